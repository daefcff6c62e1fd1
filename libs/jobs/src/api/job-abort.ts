import { Inject, Injectable } from '@nestjs/common';

import { type Principal, scopeOf } from '#auth';
import { AppError, LOGGER, type Logger } from '#platform';

import { type AdmissionAbort, JobStopper, type StoppedTree, type StopState } from '../cancel/job-stopper.js';
import { JobsRepository } from '../jobs.repository.js';
import { JobAccess } from './job-access.js';

/** The reply to a cancellation, in the format of the REST API. `stoppedSubJobs` is absent if no sub-job was cancelled. */
export type AbortReply = { readonly stoppedSubJobs?: number } & (
  | { readonly aborted: true; readonly state: 'aborted'; readonly status: 'aborted' }
  | {
      readonly aborted: false;
      readonly state: Exclude<StopState, 'aborted'>;
      readonly message: string;
    }
);

/** The reply to a cancellation by idempotency key, in the format of the REST API. */
export interface AdmissionAbortReply {
  readonly aborted: boolean;
  readonly pending: boolean;
  readonly jobId: string | null;
  readonly state: AdmissionAbort['state'] | 'abort_error';
}

/** Only a caller who may read the job learns that it has ended. */
const hasEnded = 'This job has already ended and stays as it is';
const nothingToStop = 'Job not found, unauthorized, or already complete';

/** Cancels jobs for the REST endpoint. */
@Injectable()
export class JobAbort {
  constructor(
    private readonly access: JobAccess,
    private readonly stopper: JobStopper,
    private readonly jobs: JobsRepository,
    @Inject(LOGGER) private readonly logger: Logger,
  ) {}

  /** `aborted` is true only if the job is cancelled. Throws `forbidden` for a caller who may only read the job. */
  async abort(principal: Principal, jobId: string): Promise<AbortReply> {
    const job = await this.access.findToChange(principal, jobId, 'cancel');
    if (job === null) return toAbortReply('not_found');
    const { state, stoppedSubJobs }: StoppedTree = await this.stopper.stopTree(scopeOf(principal), job.id);
    return { ...toAbortReply(state), ...(stoppedSubJobs === 0 ? {} : { stoppedSubJobs }) };
  }

  /** Cancels the job that the key has started or will start. */
  async abortAdmission(principal: Principal, key: string): Promise<AdmissionAbortReply> {
    const scope = scopeOf(principal);
    try {
      const { state, jobId } = await this.stopper.stopAdmission(scope, key);
      return { aborted: state === 'aborted', pending: state === 'cancel_requested', jobId, state };
    } catch (err) {
      if (err instanceof AppError) throw err;
      this.logger.error({ err, workspaceId: scope.workspaceId }, 'an admission could not be cancelled');
      // The reply reports only what is stored. If the database cannot be read either, the caller gets its error.
      const known = await this.jobs.findAdmission(scope, key);
      if (known === null) throw err;
      return { aborted: false, pending: true, jobId: known.jobId, state: 'abort_error' };
    }
  }
}

function toAbortReply(state: StopState): AbortReply {
  switch (state) {
    case 'aborted':
      return { aborted: true, state, status: 'aborted' };
    case 'cancel_requested':
      return { aborted: false, state, message: 'Cancellation requested' };
    case 'already_terminal':
      return { aborted: false, state, message: hasEnded };
    case 'not_found':
      return { aborted: false, state, message: nothingToStop };
  }
}
