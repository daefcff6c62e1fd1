import type { OnUnknown, ToolEffect } from '#tools';

/** A tool of `chaos-process.main.ts`: what calling it does, and what is made of a call whose end nobody saw. */
export interface RemoteTool {
  readonly effect: ToolEffect;
  readonly onUnknown?: OnUnknown;
  /** `queue`: runs in a tool process. */
  readonly isolation?: 'worker' | 'queue';
}

export const remoteInput = { type: 'object', properties: { to: { type: 'string' } } } as const;

/** By name. Of the tools that may run once, each leaves an unknown outcome to somebody: a person, the model, nobody, the far side. */
export const remoteTools = {
  look_up: { effect: 'pure' },
  charge: { effect: 'idempotent' },
  send_letter: { effect: 'once' },
  post_note: { effect: 'once', onUnknown: 'report' },
  wire_money: { effect: 'once', onUnknown: 'fail' },
  book_seat: { effect: 'once', onUnknown: 'verify' },
  survey: { effect: 'pure', isolation: 'queue' },
  refund: { effect: 'idempotent', isolation: 'queue' },
  print_page: { effect: 'once', isolation: 'queue' },
  ring_bell: { effect: 'once', onUnknown: 'report', isolation: 'queue' },
} as const satisfies Readonly<Record<string, RemoteTool>>;

export type RemoteToolName = keyof typeof remoteTools;

export function isRemoteTool(name: string): name is RemoteToolName {
  return Object.hasOwn(remoteTools, name);
}

/** Whether the tool must not be called twice unless somebody decides so. */
export function isOnce(name: string): boolean {
  return isRemoteTool(name) && remoteTools[name].effect === 'once';
}
