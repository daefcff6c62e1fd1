import { Injectable } from '@nestjs/common';

import type { JobRef } from '#jobs';
import { SubJobs, ToolQueue } from '#tools';

/** Hints after the commit of calls that run elsewhere. If a process dies before its hint, a sweep finds the calls. */
@Injectable()
export class SentCalls {
  constructor(
    private readonly queue: ToolQueue,
    private readonly subJobs: SubJobs,
  ) {}

  /** Wakes the tool workers, which otherwise look every second. */
  queued({ workspaceId }: JobRef): void {
    this.queue.hint(workspaceId);
  }

  /** Starts the sub-jobs of calls, in the order of the calls. A refused start settles its call. Never throws. */
  async asJobs({ workspaceId, jobId }: JobRef, ids: readonly string[]): Promise<void> {
    for (const id of ids) await this.subJobs.lookAfter({ workspaceId, jobId, id });
  }
}
