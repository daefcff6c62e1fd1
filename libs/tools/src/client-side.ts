import type { ToolEffect } from './tool.js';

/** The action for a call that no client runs in time: keep waiting, leave the call out, or end the job. */
export type OnClientTimeout = 'wait' | 'skip' | 'fail';

/** The settings in a request for one tool that its clients run. */
export interface ClientToolOptions {
  /** Ms until `onTimeout`; default: 24 hours. */
  readonly timeoutMs?: number;
  /** Default `wait`. */
  readonly onTimeout?: OnClientTimeout;
  /** Default `once`: a client that began and was lost is asked about, never followed by another. */
  readonly effect?: ToolEffect;
}

/** The clients that a request put behind it. Without one, no call is left to a client. */
export interface ClientSide {
  /** The device that alone may serve; null: any client of the user who started the job. */
  readonly deviceId: string | null;
  /** Options by the name of the tool; a tool without any has the defaults. */
  readonly tools: Readonly<Record<string, ClientToolOptions>>;
  /**
   * Present: calls go to the requester's clients as the model wrote them, valid or not and as often as it likes; a later
   * request of the same principal brings all their results at once. Without them after `timeoutMs` the job fails.
   */
  readonly handedOver?: { readonly timeoutMs: number };
}
