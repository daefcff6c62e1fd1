/**
 * The messages between processes. Every message is a hint: it contains ids and numbers, never state. The loss of a message only adds latency,
 * because each subscriber also polls.
 */
export interface BusMessages {
  /** The log of a job has grown to `seq`. `status` is set if the status has changed too. */
  'job-events': {
    readonly workspaceId: string;
    readonly jobId: string;
    readonly seq: number;
    readonly status?: string;
  };
  /** A job may be claimable. */
  'job-runnable': { readonly workspaceId: string; readonly jobId: string; readonly kind: string };
  /** A client or a person asked to cancel a running job. */
  'job-cancel': { readonly workspaceId: string; readonly jobId: string; readonly why: string };
  /** A sub-job of this job has ended, or the job no longer waits for one. */
  'sub-jobs': { readonly workspaceId: string; readonly jobId: string };
  /** A membership, role or key changed: the access of open viewers of this workspace must be checked again. */
  'access-changed': { readonly workspaceId: string };
  /** A request to a person or a client was opened or settled in this workspace. */
  'interrupts-changed': { readonly workspaceId: string };
  /** A message was added to the tool queue. */
  'tool-queue': { readonly workspaceId: string; readonly queue: 'requests' | 'results' };
  /** A call in the tool queue must end, in the process that runs it. */
  'tool-cancel': { readonly workspaceId: string; readonly jobId: string; readonly toolCallId: string };
  /** A process runs this plugin; `hash` is the hash of its code. */
  'plugin-loaded': { readonly plugin: string; readonly hash: string };
}

export type BusTopic = keyof BusMessages;

/**
 * The hint channel. Adapters: `MemoryBus` (one process) and `PostgresBus` (NOTIFY; at most one statement per few ms, outside of every
 * transaction). Both promise:
 * - A published message reaches every subscriber of its topic, including those of the publisher, at most once and asynchronously
 *   (never inside `publish`).
 * - `job-events` hints of one job may be merged: the highest `seq` and the newest `status` remain.
 * - After a reconnect, `onGap` listeners run, which read from the source what they may have missed.
 * `publish` never throws and never blocks. While the channel is down, a bounded number of messages is pending; further ones are dropped.
 */
export interface Bus {
  publish<T extends BusTopic>(topic: T, message: BusMessages[T]): void;
  /** Returns a function that unsubscribes. The error of a listener is logged and does not affect the others. */
  subscribe<T extends BusTopic>(topic: T, listener: (message: BusMessages[T]) => void): () => void;
  /** Runs `listener` after messages may have been missed. */
  onGap(listener: () => void): () => void;
  start(): Promise<void>;
  /** Sends pending messages, then frees all timers and connections. */
  stop(): Promise<void>;
}

/** Nest token of the chosen adapter. */
export const BUS = Symbol('Bus');
