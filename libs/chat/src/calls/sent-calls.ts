import { Injectable } from '@nestjs/common';

import type { JobRef } from '#jobs';
import { SubJobs, ToolQueue } from '#tools';

/** Publishes hints and starts sub-jobs after calls that run elsewhere were committed. If a process dies first, a sweep finds the calls. */
@Injectable()
export class SentCalls {
  constructor(
    private readonly queue: ToolQueue,
    private readonly subJobs: SubJobs,
  ) {}

  /** Wakes the tool workers, which otherwise poll every second. */
  queued({ workspaceId }: JobRef): void {
    this.queue.hint(workspaceId);
  }

  /** Starts the sub-jobs of calls, in the order of the calls. A refused start settles its call. Never throws. */
  async asJobs({ workspaceId, jobId }: JobRef, ids: readonly string[]): Promise<void> {
    for (const id of ids) await this.subJobs.process({ workspaceId, jobId, id });
  }
}
