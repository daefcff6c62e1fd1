import { Injectable } from '@nestjs/common';

import { type MemberPrincipal, scopeOf } from '#auth';
import { AppError } from '#platform';
import { humanInputActions, InterruptsService } from '#tools';
import { HitlRequestsRepository } from '#workflows';

import { invalidBody, missing } from '../errors/http.errors.js';
import { HitlLimiter } from '../limits/workflow-limiters.js';
import { WorkflowFields } from './workflow-fields.js';

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
  async answer(principal: MemberPrincipal, body: unknown): Promise<{ readonly ok: true }> {
    const { requestId, jobId, action, data } = toAnswer(body);
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

function toAnswer(body: unknown) {
  if (typeof body !== 'object' || body === null || Array.isArray(body)) throw invalidBody();
  const given: Readonly<Record<string, unknown>> = { ...body };
  const fields = new WorkflowFields(given);
  const read = (name: string): string => {
    const text = fields.text(name);
    if (text === undefined) throw missing(name);
    return text;
  };
  const [requestId, jobId, action] = [read('requestId'), read('jobId'), read('action')];
  if (!humanInputActions.some((known) => known === action))
    throw new AppError({ code: 'bad_request', message: 'Invalid action', field: 'action' });
  return { requestId, jobId, action, data: given['data'] };
}

function inTheseWords(error: unknown): unknown {
  if (!(error instanceof AppError)) return error;
  const message = words[error.code];
  return message === undefined
    ? error
    : new AppError({ code: error.code, message, details: error.details, cause: error });
}
