import type { OnUnknown, ToolEffect } from '#tools';

/** A tool of `chaos-process.main.ts`: what calling it does, and what is made of a call whose end nobody saw. */
export interface RemoteTool {
  readonly effect: ToolEffect;
  readonly onUnknown?: OnUnknown;
}

export const remoteInput = { type: 'object', properties: { to: { type: 'string' } } } as const;

/** By name. Of the last four, each leaves an unknown outcome to somebody else: a person, the model, nobody, the far side. */
export const remoteTools = {
  look_up: { effect: 'pure' },
  charge: { effect: 'idempotent' },
  send_letter: { effect: 'once' },
  post_note: { effect: 'once', onUnknown: 'report' },
  wire_money: { effect: 'once', onUnknown: 'fail' },
  book_seat: { effect: 'once', onUnknown: 'verify' },
} as const satisfies Readonly<Record<string, RemoteTool>>;

export type RemoteToolName = keyof typeof remoteTools;

export function isRemoteTool(name: string): name is RemoteToolName {
  return Object.hasOwn(remoteTools, name);
}

/** Whether the tool must not be called twice unless somebody decides so. */
export function isOnce(name: string): boolean {
  return isRemoteTool(name) && remoteTools[name].effect === 'once';
}
