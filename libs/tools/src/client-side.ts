import type { ToolEffect } from './tool.js';

/** The action if no client runs a call in time: keep waiting, skip the call, or end the job. */
export type OnClientTimeout = 'wait' | 'skip' | 'fail';

/** The settings in a request for one tool that its clients run. */
export interface ClientToolOptions {
  /** Ms until `onTimeout`; default: 24 hours. */
  readonly timeoutMs?: number;
  /** Default `wait`. */
  readonly onTimeout?: OnClientTimeout;
  /** Default `once`: if a client starts a call and stops reporting, a person decides, and no other client runs the call. */
  readonly effect?: ToolEffect;
}

/** The clients that may run calls of a request. If a request names none, no call goes to a client. */
export interface ClientSide {
  /** The only device that may run the calls; null: any client of the user who started the job. */
  readonly deviceId: string | null;
  /** Options by tool name; a tool without options has the defaults. */
  readonly tools: Readonly<Record<string, ClientToolOptions>>;
  /**
   * If present, calls go to the requester's clients as the model wrote them, without validation or a limit on repetition. A later request of
   * the same principal brings all their results at once. If it does not arrive within `timeoutMs`, the job fails.
   */
  readonly handedOver?: { readonly timeoutMs: number };
}
