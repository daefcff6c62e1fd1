import { Injectable } from '@nestjs/common';

import { type MemberPrincipal, scopeOf } from '#auth';
import { ChatService } from '#chat';
import { jobNotFound, JobsRepository, type StartedJob, type StartRequest } from '#jobs';
import { RerunWorkflowService } from '#workflows';

import { limitedStart } from '../limits/limited-start.js';
import { StartLimiter } from '../limits/start-limiter.js';
import { WorkflowStartLimiter } from '../limits/workflow-limiters.js';

/** Tries jobs again, each kind in its own way and within its own limit. */
@Injectable()
export class JobRetry {
  constructor(
    private readonly jobs: JobsRepository,
    private readonly chat: ChatService,
    private readonly workflows: RerunWorkflowService,
    private readonly starts: StartLimiter,
    private readonly workflowStarts: WorkflowStartLimiter,
  ) {}

  /** Throws `not_found`, `forbidden`, `rate_limited`, and what the retry of the kind throws. */
  async retry(
    principal: MemberPrincipal,
    jobId: string,
    idempotency: StartRequest['idempotency'],
  ): Promise<StartedJob> {
    const job = await this.jobs.findInScope(scopeOf(principal), jobId);
    if (job === null) throw jobNotFound();
    const isWorkflow = job.kind === 'workflow';
    const kind = isWorkflow ? this.workflows : this.chat;
    const limiter = isWorkflow ? this.workflowStarts : this.starts;
    return limitedStart(limiter, principal, () => kind.retry(principal, jobId, idempotency));
  }
}
