import { Injectable } from '@nestjs/common';

import { type MemberPrincipal, scopeOf } from '#auth';
import { ChatService } from '#chat';
import { jobNotFound, JobsRepository, type StartedJob, type StartRequest } from '#jobs';
import { RerunWorkflowService } from '#workflows';

/** Tries jobs again, each kind in its own way. */
@Injectable()
export class JobRetry {
  constructor(
    private readonly jobs: JobsRepository,
    private readonly chat: ChatService,
    private readonly workflows: RerunWorkflowService,
  ) {}

  /** Throws `not_found`, `forbidden`, and what the retry of the kind throws. */
  async retry(
    principal: MemberPrincipal,
    jobId: string,
    idempotency: StartRequest['idempotency'],
  ): Promise<StartedJob> {
    const job = await this.jobs.findInScope(scopeOf(principal), jobId);
    if (job === null) throw jobNotFound();
    const kind = job.kind === 'workflow' ? this.workflows : this.chat;
    return kind.retry(principal, jobId, idempotency);
  }
}
