import type { OnUnknown, ToolEffect } from '#tools';

/** A tool of `chaos-process.main.ts`: what calling it does, and how a call with an unknown outcome is handled. */
export interface RemoteTool {
  readonly effect: ToolEffect;
  readonly onUnknown?: OnUnknown;
  /** `queue`: runs in a tool process. */
  readonly isolation?: 'worker' | 'queue';
}

export const remoteInput = { type: 'object', properties: { to: { type: 'string' } } } as const;

/** By name. Of the tools that may run once, each settles an unknown outcome in another way: by a person, the model, a failed job, or the remote system. */
export const remoteTools = {
  look_up: { effect: 'pure' },
  charge: { effect: 'idempotent' },
  send_letter: { effect: 'once' },
  post_note: { effect: 'once', onUnknown: 'report' },
  wire_money: { effect: 'once', onUnknown: 'fail' },
  book_table: { effect: 'once', onUnknown: 'verify' },
  survey: { effect: 'pure', isolation: 'queue' },
  refund: { effect: 'idempotent', isolation: 'queue' },
  print_page: { effect: 'once', isolation: 'queue' },
  send_alert: { effect: 'once', onUnknown: 'report', isolation: 'queue' },
} as const satisfies Readonly<Record<string, RemoteTool>>;

export type RemoteToolName = keyof typeof remoteTools;

export function isRemoteTool(name: string): name is RemoteToolName {
  return Object.hasOwn(remoteTools, name);
}

/** Whether the tool may be called twice only by a person's decision. */
export function isOnce(name: string): boolean {
  return isRemoteTool(name) && remoteTools[name].effect === 'once';
}
