/**
 * What processes tell each other. Every message is a hint: ids and numbers, never state. Losing one costs latency only,
 * because a slow poll lies under each use.
 */
export interface BusMessages {
  /** A job's log has grown to `seq`. `status` is set when the job's status moved as well. */
  'job-events': {
    readonly workspaceId: string;
    readonly jobId: string;
    readonly seq: number;
    readonly status?: string;
  };
  /** A job may be claimable. `hasMessage`: a message in the queue of its kind announces it, too. */
  'job-runnable': {
    readonly workspaceId: string;
    readonly jobId: string;
    readonly kind: string;
    readonly hasMessage?: boolean;
  };
  /** A client or a person asked to cancel a running job. */
  'job-cancel': { readonly workspaceId: string; readonly jobId: string; readonly why: string };
  /** A sub-job of this job has ended, or this job does not wait for one any more. */
  'sub-jobs': { readonly workspaceId: string; readonly jobId: string };
  /** A membership, role or key changed: open viewers of this workspace must be asked again. */
  'access-changed': { readonly workspaceId: string };
  /** A request to a person or a client was opened or settled in this workspace. */
  'interrupts-changed': { readonly workspaceId: string };
  /** Something was put into a queue of the isolated tools. */
  'tool-queue': { readonly workspaceId: string; readonly queue: 'requests' | 'results' };
  /** A call in the isolated queue must end, in whichever process it runs. */
  'tool-cancel': { readonly workspaceId: string; readonly jobId: string; readonly toolCallId: string };
  /** A process runs this plugin; `hash` is that of its code. */
  'plugin-loaded': { readonly plugin: string; readonly hash: string };
}

export type BusTopic = keyof BusMessages;

/**
 * The hint channel. Adapters: `MemoryBus` (one process) and `PostgresBus` (NOTIFY; at most one statement per few ms,
 * outside every transaction). Both promise:
 * - a message published by anyone on the bus reaches every subscriber of its topic, the publisher's own included, at
 *   most once and asynchronously (never inside `publish`);
 * - `job-events` hints of one job may be merged, the highest `seq` wins (and the newest `status`);
 * - after a lost connection comes back, `onGap` listeners run: they read what was missed from its source.
 * `publish` never throws and never blocks; what is waiting when the channel is down is bounded and then dropped.
 */
export interface Bus {
  publish<T extends BusTopic>(topic: T, message: BusMessages[T]): void;
  /** Returns the way out; a listener that throws is logged and does not disturb the others. */
  subscribe<T extends BusTopic>(topic: T, listener: (message: BusMessages[T]) => void): () => void;
  /** Runs after messages may have been missed. */
  onGap(listener: () => void): () => void;
  start(): Promise<void>;
  /** Sends what waits, then frees every timer and connection. */
  stop(): Promise<void>;
}

/** Nest token of the chosen adapter. */
export const BUS = Symbol('Bus');
