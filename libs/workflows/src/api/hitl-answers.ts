import { Injectable } from '@nestjs/common';

import { InterruptsService } from '#approvals';
import { type MemberPrincipal, scopeOf } from '#auth';
import { HitlLimiter } from '#jobs/api';
import { AppError } from '#platform';

import { HitlRequestsRepository } from '../state/hitl-requests.repository.js';
import type { WorkflowAnswer } from './workflow-schemas.js';

const notFoundText = 'HITL request not found';

/** The messages that clients of this route expect. */
const words: Readonly<Record<string, string>> = {
  not_found: notFoundText,
  already_answered: 'HITL request already answered',
  expired: 'HITL request expired',
};

/** The error for a request that is absent, or that the caller may not see. */
export const hitlRequestNotFound = () => new AppError({ code: 'not_found', message: notFoundText });

/** Decides questions of workflows at the route of OR3 clients, by the ids that their requests contain. */
@Injectable()
export class HitlAnswers {
  constructor(
    private readonly requests: HitlRequestsRepository,
    private readonly interrupts: InterruptsService,
    private readonly limiter: HitlLimiter,
  ) {}

  /** Throws `rate_limited`, and the errors of `InterruptsService.decide` with the messages of this route. */
  async answer(principal: MemberPrincipal, answer: WorkflowAnswer): Promise<{ readonly ok: true }> {
    const { requestId, jobId, action, data } = answer;
    await this.limiter.take(principal);
    try {
      const id = await this.requests.findInScope(scopeOf(principal), { jobId, requestId });
      // An empty id matches no request, so an unknown one gives the error of a missing request.
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
