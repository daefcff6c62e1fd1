import { isTransient } from '#platform';

/** Why a run was aborted. The worker reads it from `signal.reason`, and the end of the job depends on it. */
export class JobCancelled extends Error {
  /** `why`: `cancelled` by a person, `superseded` by a newer job of its thread, or another cancel reason. */
  constructor(readonly why: string = 'cancelled') {
    super('the job was cancelled');
    this.name = 'JobCancelled';
  }
}

export class DeadlineReached extends Error {
  constructor() {
    super('the job has reached its deadline');
    this.name = 'DeadlineReached';
  }
}

/** The job was claimed too often without progress: the handler only closes what is open. */
export class Poisoned extends Error {
  constructor() {
    super('the job stopped its workers too often');
    this.name = 'Poisoned';
  }
}

export class Draining extends Error {
  constructor() {
    super('the worker is stopping');
    this.name = 'Draining';
  }
}

/** Whether the job ends with the error that its handler threw; otherwise another worker continues it. */
export function endsWith({ signal }: { readonly signal: AbortSignal }, thrown: unknown): boolean {
  return signal.aborted ? endsJob(signal.reason) : !isTransient(thrown);
}

/** Whether a run that was aborted for this reason ends its job; otherwise another worker continues it. */
export function endsJob(reason: unknown): boolean {
  return reason instanceof JobCancelled || reason instanceof DeadlineReached || reason instanceof Poisoned;
}
