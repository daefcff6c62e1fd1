import { Injectable } from '@nestjs/common';

import { JobStopper } from '../cancel/job-stopper.js';
import { DueLooks } from '../due-looks.js';
import type { JobRef } from '../job.js';
import { JobTelemetry } from '../job.telemetry.js';
import { humanWait, RefusedWaitsRepository } from './refused-waits.repository.js';

const dueAtOnce = 100;

/**
 * Cancels jobs that were started with `humanWait: 'reject'` once they or their descendants open a request to a person. A request is marked
 * as refused when it is opened, so a later look suffices: the API process that reports the job looks at once, every worker each second.
 */
@Injectable()
export class RefusedWaits {
  private readonly looks: DueLooks;

  constructor(
    private readonly waits: RefusedWaitsRepository,
    private readonly stopper: JobStopper,
    private readonly telemetry: JobTelemetry,
  ) {
    this.looks = new DueLooks({ what: 'refused waits', logger: telemetry.logger });
  }

  start(): void {
    this.looks.start(() => this.look());
  }

  stop(): Promise<void> {
    return this.looks.stop();
  }

  /** Cancels the job if it or a descendant has opened a refused request; returns whether that is so. May be called again. */
  async refuse(job: JobRef): Promise<boolean> {
    if (!(await this.waits.isDue(job))) return false;
    await this.stopper.cancelTree(job, humanWait);
    return true;
  }

  /** Cancels the jobs found now, up to a limit. */
  async look(): Promise<void> {
    for (const job of await this.waits.due(dueAtOnce, this.looks.stillPutOff())) {
      try {
        await this.stopper.cancelTree(job, humanWait);
      } catch (err) {
        const { workspaceId, jobId } = job;
        this.looks.postpone(jobId);
        this.telemetry.logger.warn(
          { err, workspaceId, jobId },
          'a job that must not wait for a person was not cancelled',
        );
      }
    }
  }
}
