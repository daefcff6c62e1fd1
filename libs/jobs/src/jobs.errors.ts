import { AppError } from '#platform';

export const jobNotFound = () => new AppError({ code: 'not_found', message: 'Job not found or unauthorized' });

export const threadNotFound = () =>
  new AppError({ code: 'not_found', message: 'Thread not found or unauthorized', field: 'threadId' });

export const threadBusy = () =>
  new AppError({ code: 'thread_busy', message: 'Another job is already running in this thread', field: 'threadId' });

/** A client's id of a message is unique in its thread; a repeated start is recognised by its idempotency key instead. */
export const messageIdTaken = () =>
  new AppError({ code: 'conflict', message: 'This message id is already used in the thread', field: 'messageId' });

/** Whose jobs a limit counts. */
export type LimitScope = 'user' | 'workspace';

/** A limit that a start has reached, as clients read it beside the message. */
export interface ReachedLimit {
  readonly name: 'maxJobs' | 'maxJobsPerUser' | 'MAX_UNFINISHED_JOBS' | 'MAX_UNFINISHED_JOBS_PER_USER';
  readonly value: number;
  /** Who can raise it. */
  readonly raisedBy: 'workspace_admin' | 'operator';
}

/** Too many jobs run, and the workspace refuses starts then (`whenFull: reject`). */
export const runningLimitReached = (scope: LimitScope, value: number) =>
  scope === 'user'
    ? limitReached(
        { name: 'maxJobsPerUser', value, raisedBy: 'workspace_admin' },
        `a user runs at most ${value} jobs at once`,
      )
    : limitReached(
        { name: 'maxJobs', value, raisedBy: 'workspace_admin' },
        `this workspace runs at most ${value} jobs at once`,
      );

/** Too many jobs are stored that have not ended. */
export const storedLimitReached = (scope: LimitScope, value: number) =>
  scope === 'user'
    ? limitReached(
        { name: 'MAX_UNFINISHED_JOBS_PER_USER', value, raisedBy: 'operator' },
        `a user has at most ${value} unfinished jobs in a workspace`,
      )
    : limitReached(
        { name: 'MAX_UNFINISHED_JOBS', value, raisedBy: 'operator' },
        `a workspace has at most ${value} unfinished jobs`,
      );

const raisers: Readonly<Record<ReachedLimit['raisedBy'], string>> = {
  workspace_admin: 'An owner or admin of the workspace can raise it',
  operator: 'The operator of this server can raise it',
};

function limitReached(limit: ReachedLimit, rule: string): AppError {
  return new AppError({
    code: 'job_limit_reached',
    message: `Server busy, try again later: ${rule} (${limit.name}). ${raisers[limit.raisedBy]}.`,
    retryable: true,
    retryAfterSeconds: 5,
    details: { limit },
  });
}

export const idempotencyKeyMismatch = () =>
  new AppError({
    code: 'idempotency_key_mismatch',
    message: 'Idempotency key was already used with a different request',
    field: 'idempotencyKey',
  });

export const admissionCancelled = () =>
  new AppError({ code: 'admission_cancelled', message: 'This admission was cancelled before it started' });

export const startInFlight = () =>
  new AppError({
    code: 'start_in_flight',
    message: 'The first request with this idempotency key is still being accepted',
    retryable: true,
    retryAfterSeconds: 1,
  });

export const jobNotFinished = () =>
  new AppError({ code: 'conflict', message: 'Only a failed or cancelled job can be retried', field: 'jobId' });

/** What a model reads when it asks for a job within a job that must not be. */
export const subJobTooDeep = (most: number) =>
  new AppError({ code: 'sub_job_limit', message: `Jobs within jobs go ${most} levels deep, not further` });

export const tooManySubJobs = (most: number) =>
  new AppError({ code: 'sub_job_limit', message: `A job starts ${most} jobs at most, and this one has` });

/** The call that asks for it has ended, or is going to. */
export const parentStopped = () =>
  new AppError({ code: 'sub_job_unwanted', message: 'The job that asked for this one has been stopped' });

/** The lease is gone: another worker owns the job, or it has ended. Whoever catches this writes nothing more. */
export class LeaseLost extends Error {
  /** `cause`: what kept the write from the database, when it was not the fence. */
  constructor(jobId: string, cause?: unknown) {
    super(`lease of job ${jobId} is lost`, cause === undefined ? undefined : { cause });
    this.name = 'LeaseLost';
  }
}

/** The write asked for an uncancelled job, and a cancel had been requested. The lease is still held. */
export class CancelRequested extends Error {
  /** `why`: as whoever asked for it said. */
  constructor(
    jobId: string,
    readonly why?: string,
  ) {
    super(`cancel of job ${jobId} was requested`);
    this.name = 'CancelRequested';
  }
}
