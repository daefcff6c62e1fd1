import { Injectable } from '@nestjs/common';

import { sweepEach } from '#platform';

import { JobStopper } from '../cancel/job-stopper.js';
import type { JobRef } from '../job.js';
import { JobTelemetry } from '../job.telemetry.js';
import { humanWait, RefusedWaitsRepository } from './refused-waits.repository.js';

/**
 * Cancels jobs that were started with `humanWait: 'reject'` once they, or their descendants, ask a person. The row of a request contains from
 * its opening whether the request is refused. An API process that waits for the job cancels it at once; the handler of the request's queue
 * message cancels all others.
 */
@Injectable()
export class RefusedWaits {
  constructor(
    private readonly waits: RefusedWaitsRepository,
    private readonly stopper: JobStopper,
    private readonly telemetry: JobTelemetry,
  ) {}

  /** Cancels the job if it or a descendant has opened a refused request; returns whether that is so. May be called again. */
  async refuse(job: JobRef): Promise<boolean> {
    if (!(await this.waits.isDue(job))) return false;
    await this.stopper.cancelTree(job, humanWait);
    return true;
  }

  /** Cancels the root job of a refused request. Returns false if the request is not refused. */
  async refuseRoot(request: { readonly workspaceId: string; readonly id: string }): Promise<boolean> {
    const root = await this.waits.rootOf(request);
    if (root === null) return false;
    await this.stopper.cancelTree(root, humanWait);
    return true;
  }

  /** Cancels all jobs that have opened a refused request. */
  async sweep(): Promise<void> {
    await sweepEach({
      find: (limit, without) => this.waits.due(limit, without),
      idOf: ({ jobId }) => jobId,
      act: (job) => this.stopper.cancelTree(job, humanWait),
      onError: (err, job) => {
        this.telemetry.logger.warn({ err, ...job }, 'a job that must not wait for a person was not cancelled');
      },
    });
  }
}
