import type { JobKind } from '../job.js';
import type { JobRun } from './job-run.js';

/** How a handler's work ended. What it committed stays, whatever the outcome. */
export type JobOutcome =
  | { readonly status: 'completed'; readonly reason: string }
  | { readonly status: 'failed'; readonly code: string; readonly message: string }
  /** Interrupts are open and committed; the slot is given back. */
  | { readonly status: 'waiting'; readonly interruptIds: readonly string[] }
  /** The process drains and the handler stopped at a round boundary. */
  | { readonly status: 'released' };

/**
 * The work of one kind of job. Called with a fresh claim; rebuilds its state from rows when the job was begun before. Called
 * again on the same claim when an answer from outside came in while it went to wait.
 * When `run.signal` aborts it must stop promptly, hand over (with `run.append`) what settles its open calls and partial
 * text, and return or throw: what the job becomes then follows from the signal's reason, not from the answer.
 */
export interface JobHandler {
  readonly kind: JobKind;
  run(run: JobRun): Promise<JobOutcome>;
}
