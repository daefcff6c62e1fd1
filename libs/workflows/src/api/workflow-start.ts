import type { IncomingHttpHeaders } from 'node:http';

import { Injectable } from '@nestjs/common';

import type { MemberPrincipal } from '#auth';
import { mayCreateThread } from '#chat/api';
import { JobsRepository, type StartedJob } from '#jobs';
import { chargedStart, WorkflowStartLimiter } from '#jobs/api';
import type { Allowance } from '#platform';

import { StartWorkflowService } from '../start/start-workflow.service.js';
import { toStartWorkflow } from './to-start-workflow.js';

/** Starts workflow jobs for the REST endpoint: parses the request, applies the rate limit, and calls the workflow service. */
@Injectable()
export class WorkflowStart {
  constructor(
    private readonly starts: StartWorkflowService,
    private readonly jobs: JobsRepository,
    private readonly limiter: WorkflowStartLimiter,
  ) {}

  /**
   * Throws `bad_request`, `rate_limited` and what `StartWorkflowService.start` throws. Repetitions of a key do not count towards the rate limit.
   */
  async start(
    principal: MemberPrincipal,
    call: { readonly body: unknown; readonly headers: IncomingHttpHeaders },
  ): Promise<{ readonly job: StartedJob; readonly allowance: Allowance }> {
    const request = toStartWorkflow({ ...call, mayCreateThread: mayCreateThread(principal) });
    const key = request.idempotency?.key ?? null;
    const { limiter, jobs } = this;
    return chargedStart({ limiter, jobs }, { principal, key }, () => this.starts.start(principal, request));
  }
}
