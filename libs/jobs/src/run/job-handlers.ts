import { Injectable } from '@nestjs/common';

import type { JobKind } from '../job.js';
import type { JobHandler, JobOutcome } from './job-handler.js';
import type { ClaimedJob } from './lease.repository.js';

/** The handlers of this process, one per kind. Higher libs register them at boot. */
@Injectable()
export class JobHandlers {
  private readonly byKind = new Map<string, JobHandler>();
  /** Whether the requester of a delayed job may begin it now. A higher lib sets it at boot, because this lib knows no rights. */
  mayBegin: (job: ClaimedJob) => Promise<boolean> = () => Promise.resolve(true);

  register(handler: JobHandler): void {
    if (this.byKind.has(handler.kind)) throw new Error(`kind ${handler.kind} has two handlers`);
    this.byKind.set(handler.kind, handler);
  }

  get kinds(): JobKind[] {
    return [...this.byKind.values()].map(({ kind }) => kind);
  }

  find(kind: string): JobHandler | undefined {
    return this.byKind.get(kind);
  }

  /** The handler of a claimed job. The handler of a delayed job runs only if its requester may still start the job. */
  of(job: ClaimedJob): JobHandler | undefined {
    const handler = this.find(job.kind);
    const begins = job.isDelayed === true && job.rounds === 0 && job.externalUpdates === 0;
    if (handler === undefined || !begins) return handler;
    return { kind: handler.kind, run: async (run) => ((await this.mayBegin(job)) ? handler.run(run) : rightLost) };
  }
}

const rightLost: JobOutcome = {
  status: 'failed',
  code: 'right_lost',
  message: 'The member who started this job may no longer start jobs in this workspace, or the API key was revoked.',
};
