import { Injectable } from '@nestjs/common';

import type { JobRef } from '#jobs';
import { SubJobs, ToolQueue } from '#tools';

/** What follows the commit of calls that run elsewhere. Whoever is lost before it is made up for by a sweep. */
@Injectable()
export class SentCalls {
  constructor(
    private readonly queue: ToolQueue,
    private readonly subJobs: SubJobs,
  ) {}

  /** Tool processes look at once instead of within a second. */
  queued({ workspaceId }: JobRef): void {
    this.queue.hint(workspaceId);
  }

  /** Starts the jobs that calls have become, in the order of the calls. A start that is refused settles its call. Never throws. */
  async asJobs({ workspaceId, jobId }: JobRef, ids: readonly string[]): Promise<void> {
    for (const id of ids) await this.subJobs.lookAfter({ workspaceId, jobId, id });
  }
}
