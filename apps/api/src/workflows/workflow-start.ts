import type { IncomingHttpHeaders } from 'node:http';

import { Injectable } from '@nestjs/common';

import { abilityOf, asSubject, type MemberPrincipal, scopeOf } from '#auth';
import { JobsRepository, type StartedJob } from '#jobs';
import { AppError } from '#platform';
import { type StartWorkflow, StartWorkflowService } from '#workflows';

import type { Allowance } from '../limits/start-limiter.js';
import { WorkflowStartLimiter } from '../limits/workflow-limiters.js';
import { toStartWorkflow } from './to-start-workflow.js';

/** Starts workflow jobs for the REST door: reads the request, minds the rate, and leaves the rest to the workflows. */
@Injectable()
export class WorkflowStart {
  constructor(
    private readonly starts: StartWorkflowService,
    private readonly jobs: JobsRepository,
    private readonly limiter: WorkflowStartLimiter,
  ) {}

  /** Throws `bad_request`, `rate_limited` and what `StartWorkflowService.start` throws. Repetitions of a key are not charged. */
  async start(
    principal: MemberPrincipal,
    call: { readonly body: unknown; readonly headers: IncomingHttpHeaders },
  ): Promise<{ readonly job: StartedJob; readonly allowance: Allowance }> {
    const request = toStartWorkflow({ ...call, mayCreateThread: mayCreateThread(principal) });
    const allowance = await this.charge(principal, request);
    const job = await this.starts.start(principal, request);
    if (job.replayed && allowance.retryAfterSeconds === 0)
      return { job, allowance: this.limiter.giveBack(principal.id) };
    return { job, allowance };
  }

  private async charge(principal: MemberPrincipal, { idempotency }: StartWorkflow): Promise<Allowance> {
    try {
      return this.limiter.take(principal.id);
    } catch (error) {
      if (!(error instanceof AppError) || idempotency === null) throw error;
      const known = await this.jobs.findAdmission(scopeOf(principal), idempotency.key);
      if (known?.jobId == null) throw error;
      return this.limiter.peek(principal.id);
    }
  }
}

function mayCreateThread(principal: MemberPrincipal): boolean {
  const { workspaceId, userId } = principal;
  return abilityOf(principal).can('create', asSubject('Thread', { workspaceId, createdBy: userId }));
}
