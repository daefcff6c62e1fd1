import type { JobStatus, TerminalStatus } from '../job.lifecycle.js';

/** Token counts of a round or of a whole job. */
export interface Usage {
  readonly promptTokens: number;
  readonly completionTokens: number;
  readonly totalTokens: number;
}

/** A tool call as every face shows it; texts are cut to the size of a screen. */
export interface ToolCallItem {
  readonly id: string;
  readonly name: string;
  /** Wire form of the status. */
  readonly status: 'pending' | 'loading' | 'complete' | 'error' | 'skipped';
  /** JSON text. */
  readonly args: string;
  readonly result?: string;
  readonly output?: string;
  readonly error?: string;
}

/**
 * THE vocabulary: everything that can be in a job's log, and nothing else. Facts, named noun-what-happened.
 * `seq`, `jobId`, `at` and `attempt` are stamped when the event is stored. Readers ignore kinds they do not know.
 */
export interface JobEventBodies {
  'job-queued': {
    readonly kind: string;
    readonly threadId: string | null;
    readonly messageId: string | null;
    readonly queuePosition?: number;
  };
  'job-started': { readonly epoch: number };
  'round-started': { readonly round: number; readonly model: string };
  /** `offset`: UTF-16 position of `text` in the content of the job. */
  'text-delta': { readonly round: number; readonly offset: number; readonly text: string };
  'reasoning-delta': { readonly round: number; readonly offset: number; readonly text: string };
  /** Text beyond `contentLength` is withdrawn (and reasoning beyond `reasoningLength`). */
  'round-restarted': {
    readonly round: number;
    readonly reason: string;
    readonly contentLength: number;
    readonly reasoningLength: number;
  };
  'round-finished': {
    readonly round: number;
    readonly finishReason: string;
    readonly usage: Usage;
    readonly toolCallIds: readonly string[];
  };
  'tool-call': { readonly round: number; readonly internalStatus: string; readonly call: ToolCallItem };
  'tool-call-updated': { readonly round: number; readonly internalStatus: string; readonly call: ToolCallItem };
  /** `seqInCall`: 1, 2, 3 … within the call. For display only. */
  'tool-progress': {
    readonly callId: string;
    readonly seqInCall: number;
    readonly progress?: number;
    readonly total?: number;
    readonly message?: string;
  };
  /** `request` by kind; `expiresAt` in ms since the epoch, null: never. */
  'interrupt-opened': {
    readonly interruptId: string;
    readonly kind: string;
    readonly callId?: string;
    readonly nodeId?: string;
    readonly title: string;
    readonly expiresAt: number | null;
    readonly request: Readonly<Record<string, unknown>>;
  };
  'interrupt-reminder': {
    readonly interruptId: string;
    readonly kind: string;
    readonly title: string;
    readonly expiresAt: number | null;
  };
  'interrupt-resolved': {
    readonly interruptId: string;
    readonly outcome: string;
    readonly decidedBy?: string;
    readonly decidedAt: number;
  };
  'job-waiting': { readonly interruptIds: readonly string[] };
  'job-requeued': { readonly reason: string };
  warning: { readonly code: string; readonly text: string };
  'job-cancel-requested': { readonly by: string; readonly reason: string };
  'job-finished': {
    readonly status: TerminalStatus;
    readonly reason: string;
    readonly error?: { readonly code: string; readonly message: string };
    readonly content_length: number;
    readonly usage: Usage;
    readonly durationMs: number;
    readonly toolCalls: number;
    readonly rounds: number;
  };
}

export type JobEventType = keyof JobEventBodies;

/** An event before it has a number. */
export type NewJobEvent = {
  readonly [T in JobEventType]: { readonly type: T; readonly body: JobEventBodies[T] };
}[JobEventType];

/** An event of the log. `at` in ms since the epoch; `attempt`: how often shown text had been withdrawn by then. */
export type JobEvent = NewJobEvent & {
  readonly seq: number;
  readonly jobId: string;
  readonly at: number;
  readonly attempt: number;
};

/** The only kinds that are merged while waiting to be written, and trimmed some time after the end. */
export const deltaTypes = ['text-delta', 'reasoning-delta'] as const satisfies readonly JobEventType[];

export function isDelta(event: NewJobEvent): event is Extract<NewJobEvent, { type: (typeof deltaTypes)[number] }> {
  return event.type === 'text-delta' || event.type === 'reasoning-delta';
}

/** The status a job has once this event is in its log; undefined when the event does not move it. */
export function statusAfter(event: NewJobEvent): JobStatus | undefined {
  switch (event.type) {
    case 'job-queued':
    case 'job-requeued':
      return 'queued';
    case 'job-started':
      return 'running';
    case 'job-waiting':
      return 'waiting';
    case 'job-finished':
      return event.body.status;
    case 'round-started':
    case 'text-delta':
    case 'reasoning-delta':
    case 'round-restarted':
    case 'round-finished':
    case 'tool-call':
    case 'tool-call-updated':
    case 'tool-progress':
    case 'interrupt-opened':
    case 'interrupt-reminder':
    case 'interrupt-resolved':
    case 'warning':
    case 'job-cancel-requested':
      return undefined;
  }
}

/**
 * Adds an event to those waiting to be written: a delta that continues the last one of its kind and round is merged into
 * it, so that however many pieces arrive before a write, the log grows by one row.
 */
export function mergeInto(pending: NewJobEvent[], event: NewJobEvent): void {
  const last = pending.at(-1);
  if (last !== undefined && isDelta(event) && last.type === event.type && last.body.round === event.body.round) {
    const text = last.body.text + event.body.text;
    pending[pending.length - 1] = { type: event.type, body: { ...last.body, text } };
  } else {
    pending.push(event);
  }
}
