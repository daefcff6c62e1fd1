import { Injectable } from '@nestjs/common';

import { InterruptsService } from '#approvals';
import { type MemberPrincipal, scopeOf } from '#auth';
import { HitlLimiter } from '#jobs/api';
import { AppError } from '#platform';

import { HitlRequestsRepository } from '../state/hitl-requests.repository.js';
import type { WorkflowAnswer } from './workflow-schemas.js';

/** What clients of this route read for the failures of requests. */
const words: Readonly<Record<string, string>> = {
  not_found: 'HITL request not found',
  already_answered: 'HITL request already answered',
  expired: 'HITL request expired',
};

/** Answers to the questions of workflows, at the route that OR3 clients know: requests go by the ids they were shown with. */
@Injectable()
export class HitlAnswers {
  constructor(
    private readonly requests: HitlRequestsRepository,
    private readonly interrupts: InterruptsService,
    private readonly limiter: HitlLimiter,
  ) {}

  /** Throws `rate_limited`, and what `InterruptsService.decide` throws, in this route's words. */
  async answer(principal: MemberPrincipal, answer: WorkflowAnswer): Promise<{ readonly ok: true }> {
    const { requestId, jobId, action, data } = answer;
    await this.limiter.take(principal);
    try {
      const id = await this.requests.findInScope(scopeOf(principal), { jobId, requestId });
      // An unknown one is looked for by an id that is none of ours.
      await this.interrupts.decide(principal, id ?? '', { action, data });
      return { ok: true };
    } catch (error) {
      throw inTheseWords(error);
    }
  }
}

function inTheseWords(error: unknown): unknown {
  if (!(error instanceof AppError)) return error;
  const message = words[error.code];
  return message === undefined
    ? error
    : new AppError({ code: error.code, message, details: error.details, cause: error });
}
