import { Injectable } from '@nestjs/common';

import type { CancelResult } from '../cancel/cancel.repository.js';
import { Doorbell } from '../doorbell/doorbell.js';
import { JobTelemetry } from '../job.telemetry.js';
import { ThreadLine } from '../line/thread-line.js';
import type { StartRequest } from './start-request.js';

/** What has to be told to others once the jobs of a batch are accepted. */
export interface Aftermath {
  readonly queued: StartRequest[];
  /** Those of them that wait for nothing but a claim. */
  readonly runnable: StartRequest[];
  /** Accepted as claimed by this process: the worker tells of them itself. */
  readonly begun: StartRequest[];
  /** Jobs that were ended, or asked to stop. */
  readonly superseded: (CancelResult & { readonly jobId: string })[];
  /** Threads whose line may have to move. */
  readonly threads: Set<string>;
}

/** Tells of accepted jobs. Everything is committed: what fails here costs latency only, and no start is answered with an error for it. */
@Injectable()
export class StartNews {
  constructor(
    private readonly doorbell: Doorbell,
    private readonly line: ThreadLine,
    private readonly telemetry: JobTelemetry,
  ) {}

  async tell(workspaceId: string, { queued, runnable, begun, superseded, threads }: Aftermath): Promise<void> {
    this.telemetry.commits.inc({ writer: 'start' });
    for (const { kind } of [...queued, ...begun]) this.telemetry.accepted.inc({ kind });
    for (const { jobId } of queued) this.doorbell.hintGrown({ workspaceId, jobId, seq: 1, status: 'queued' });
    for (const { jobId, kind } of runnable) this.doorbell.hint({ workspaceId, jobId, kind });
    for (const { jobId, state, seq, status } of superseded) {
      if (state === 'requested') this.doorbell.hintCancel({ workspaceId, jobId, why: 'superseded' });
      this.doorbell.hintGrown({ workspaceId, jobId, seq, status });
      if (state === 'ended') this.doorbell.hintSubJobs({ workspaceId, jobId });
    }
    // The active job may have ended while we queued up behind it; whoever looks last moves the line.
    for (const threadId of threads) {
      try {
        await this.line.advance(workspaceId, threadId);
      } catch (error) {
        this.telemetry.logger.warn({ err: error, workspaceId, threadId }, 'a line could not be advanced');
      }
    }
  }
}
