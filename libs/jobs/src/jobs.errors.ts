import { AppError, limitDetails, raiserSentence } from '#platform';

export const jobNotFound = () => new AppError({ code: 'not_found', message: 'Job not found or unauthorized' });

export const threadNotFound = () =>
  new AppError({ code: 'not_found', message: 'Thread not found or unauthorized', field: 'threadId' });

/** `jobId`: the active job of the thread, which the client can wait for or cancel. The wire contract fixes the message. */
export const threadBusy = (jobId: string) =>
  new AppError({
    code: 'thread_busy',
    message: 'Another job is already running in this thread',
    field: 'threadId',
    details: { jobId },
  });

/** `jobId`: the active job of the thread, behind which `max` others are queued. */
export const threadQueueFull = (jobId: string, max: number) =>
  new AppError({
    code: 'thread_busy',
    message: `The queue of this thread is full: ${max} jobs wait for job ${jobId}. Wait, cancel some, or start with whenBusy INTERRUPT.`,
    field: 'threadId',
    details: { jobId },
  });

/** A client's message id is unique in its thread. A repeated start is recognized by its idempotency key instead. */
export const messageIdTaken = () =>
  new AppError({
    code: 'conflict',
    message: 'This message id is already used in the thread. Choose another one.',
    field: 'messageId',
  });

/** The owner of the jobs that a limit counts. */
export type LimitScope = 'user' | 'workspace';

const runningCaps = {
  user: { name: 'maxJobsPerUser', holder: 'a user' },
  agent: { name: 'maxRunningJobs', holder: 'this agent' },
  workspace: { name: 'maxJobs', holder: 'this workspace' },
} as const;

/** Too many jobs run, and the workspace rejects further starts (`whenFull: reject`). */
export const runningLimitReached = (scope: LimitScope | 'agent', value: number) => {
  const { name, holder } = runningCaps[scope];
  const limit = { name, value, raisedBy: 'workspace_admin' } as const;
  const rule = `${holder} runs at most ${value} ${value === 1 ? 'job' : 'jobs'} at once`;
  return new AppError({
    code: 'job_limit_reached',
    message: `Server busy, try again later: ${rule} (${limit.name}). ${raiserSentence(limit)}`,
    retryable: true,
    retryAfterSeconds: 5,
    details: limitDetails(limit),
  });
};

/** Too many stored jobs have not ended. The error is not retryable: these jobs may wait for days. */
export const storedLimitReached = (scope: LimitScope, value: number) => {
  const name = scope === 'user' ? 'MAX_UNFINISHED_JOBS_PER_USER' : 'MAX_UNFINISHED_JOBS';
  const limit = { name, value, raisedBy: 'operator' } as const;
  const rule = scope === 'user' ? `a user has at most ${value} in a workspace` : `a workspace has at most ${value}`;
  return new AppError({
    code: 'job_limit_reached',
    message: `Too many unfinished jobs: ${rule} (${name}). Cancel jobs that are queued or waiting. ${raiserSentence(limit)}`,
    details: limitDetails(limit),
  });
};

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

/** The model reads this message when its tool call would nest sub-jobs too deep. */
export const subJobTooDeep = (max: number) =>
  new AppError({ code: 'sub_job_limit', message: `Sub-jobs can be nested at most ${max} levels deep` });

export const tooManySubJobs = (max: number) =>
  new AppError({
    code: 'sub_job_limit',
    message: `A job can start at most ${max} jobs; this job has reached the limit`,
  });

/** The tool call that would start the sub-job has ended or is being cancelled. */
export const parentStopped = () =>
  new AppError({
    code: 'sub_job_unwanted',
    message: 'The job that requested this sub-job has ended or is being cancelled',
  });

/** The lease is lost: another worker owns the job, or the job has ended. The code that catches this error writes nothing more. */
export class LeaseLost extends Error {
  /** `cause`: what kept the write from the database, if it was not the fence. */
  constructor(jobId: string, cause?: unknown) {
    super(`lease of job ${jobId} is lost`, cause === undefined ? undefined : { cause });
    this.name = 'LeaseLost';
  }
}

/** The write required a job without a cancel request, and a cancel was requested. The worker still has the lease. */
export class CancelRequested extends Error {
  /** `why`: the reason that the requester of the cancel gave. */
  constructor(
    jobId: string,
    readonly why?: string,
  ) {
    super(`cancel of job ${jobId} was requested`);
    this.name = 'CancelRequested';
  }
}

/** The condition of a start, or the same condition of another start of its batch, does not hold. Nothing of this start was written. */
export class StartConditionFailed extends Error {
  override readonly name = 'StartConditionFailed';
}
