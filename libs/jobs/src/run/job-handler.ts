import type { JobFailure, JobKind } from '../job.js';
import type { JobRun } from './job-run.js';

/** How a handler call ended. Committed writes remain in every case. */
export type JobOutcome =
  | { readonly status: 'completed'; readonly reason: string }
  | ({ readonly status: 'failed' } & JobFailure)
  /** Interrupts are open and committed; the job releases its slot. */
  | { readonly status: 'waiting'; readonly interruptIds: readonly string[] }
  /**
   * The process drains, and the handler stopped at a round boundary. Or the job has chosen its agent, whose cap counts the job from its next
   * claim on.
   */
  | { readonly status: 'released'; readonly agentId?: string };

/**
 * Runs jobs of one kind. Called with a fresh claim; rebuilds its state from rows if the job was started before. Called again on the same
 * claim if a decision or result arrived while the job was about to wait.
 * When `run.signal` aborts, the handler must stop promptly, append the events and rows that settle its open calls and partial text, and
 * return or throw: the end of the job then follows from the signal's reason and not from the return value.
 */
export interface JobHandler {
  readonly kind: JobKind;
  run(run: JobRun): Promise<JobOutcome>;
}
