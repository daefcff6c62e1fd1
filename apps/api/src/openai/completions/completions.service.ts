import { Injectable } from '@nestjs/common';

import type { MemberPrincipal } from '#auth';
import { type Answer, AnswersRepository, type ContinuationInput, Continuations, isConcurrentWrite } from '#chat';

import { OpenAiError } from '../../errors/openai-error.js';
import { serverBusy } from '../../errors/to-openai-reply.js';
import { checkContinuation, type PendingRun, sessionBusy } from '../request/check-continuation.js';
import { NewAnswers } from './new-answers.js';
import { attached, type OpenedAnswer } from './opened-answer.js';
import { digestsOf } from './repetition-digests.js';
import { appliedOf, type AskedCompletion, repetitionOf, runOf, type Situation, Situations } from './situations.js';

/** Another request committed first. The service reads the situation again, or throws `refusal` after the last attempt. */
interface Superseded {
  readonly refusal: OpenAiError;
}

/** Concurrent requests of one session retry after a lost race; more retries than this indicate a bug. */
const maxLooks = 20;

/** Finds the response for a request: that of an earlier equal request, the continuation of a paused run, or a new response. */
@Injectable()
export class Completions {
  constructor(
    private readonly answers: AnswersRepository,
    private readonly continuations: Continuations,
    private readonly situations: Situations,
    private readonly newAnswers: NewAnswers,
  ) {}

  /** Throws `OpenAiError` as the contract lists, `rate_limited`, `job_limit_reached`, and the errors of a start. */
  async open(principal: MemberPrincipal, asked: AskedCompletion): Promise<OpenedAnswer> {
    let refusal: OpenAiError = serverBusy();
    for (let look = 0; look < maxLooks; look++) {
      const isFirst = look === 0;
      const opened = (await this.repeated(principal, asked)) ?? (await this.lookOrRepeat(principal, asked, isFirst));
      if ('answer' in opened) return opened;
      refusal = opened.refusal;
    }
    throw refusal;
  }

  /** The response that the request's idempotency key already has; null: none yet. */
  private async repeated(principal: MemberPrincipal, { headers, request }: AskedCompletion) {
    const { idempotencyKey: key } = headers;
    const answer = key === null ? null : await this.answers.findByKey(principal, key);
    if (answer === null) return null;
    if (answer.requestHash !== request.bodyHash) throw keyMismatch();
    return attached(answer);
  }

  /** If a request is refused because another one with the same key committed first, returns the response of that one. */
  private async lookOrRepeat(
    principal: MemberPrincipal,
    asked: AskedCompletion,
    isFirst: boolean,
  ): Promise<OpenedAnswer | Superseded> {
    try {
      return await this.look(principal, asked, isFirst);
    } catch (error) {
      const repeated = error instanceof OpenAiError ? await this.repeated(principal, asked) : null;
      if (repeated === null) throw error;
      return repeated;
    }
  }

  private async look(
    principal: MemberPrincipal,
    asked: AskedCompletion,
    isFirst: boolean,
  ): Promise<OpenedAnswer | Superseded> {
    const situation = await this.situations.of(principal, asked);
    const opened = await this.opened(principal, situation, isFirst);
    return opened ?? { refusal: situation.mode.strictBy === null ? serverBusy() : sessionBusy() };
  }

  /** Null: another request committed first, and the situation must be read again. */
  private async opened(
    principal: MemberPrincipal,
    situation: Situation,
    isFirst: boolean,
  ): Promise<OpenedAnswer | null> {
    const { continuation, request, known, mode } = situation;
    if (mode.strictBy === null) return this.begin(principal, situation);
    const repeated = repetitionOf(situation);
    if (repeated !== null) {
      // One of several equal concurrent requests wins. A later repetition attaches to the winner's response.
      if (!isFirst && repeated.state === 'busy') throw sessionBusy();
      return attached(repeated, mode.ignored);
    }
    const run = runOf(situation);
    if (run?.state === 'paused' && run !== known.applied?.answer) return this.resumeRun(principal, run, situation);
    if (run?.state === 'busy') throw sessionBusy();
    if (appliedOf(situation) === null)
      checkContinuation({ isBusy: false, pending: null, model: request.model, continuation });
    return this.begin(principal, situation);
  }

  private async begin(principal: MemberPrincipal, situation: Situation): Promise<OpenedAnswer | null> {
    const begun = await this.newAnswers.begin(principal, situation);
    return begun === 'replayed' ? this.replayed(principal, situation) : begun;
  }

  /** The response to a request whose key has already started a job: another request with the key committed meanwhile, or used another endpoint. */
  private async replayed(principal: MemberPrincipal, situation: Situation): Promise<OpenedAnswer> {
    const repeated = await this.repeated(principal, situation);
    if (repeated === null) throw keyMismatch();
    return repeated;
  }

  private async resumeRun(
    principal: MemberPrincipal,
    run: Answer,
    { request, headers, continuation, digests, sessionId, mode }: Situation,
  ): Promise<OpenedAnswer | null> {
    const { idempotencyKey: key } = headers;
    const { model, bodyHash: requestHash, about, parameters } = request;
    try {
      const answer = await this.continuations.apply(principal, run, (locked): ContinuationInput | null => {
        if (locked.answer.state !== 'paused') return null;
        const pending = toPending(locked.answer, locked.callIds);
        const verdict = checkContinuation({ isBusy: false, pending, model, continuation });
        if (verdict.type === 'new') return null;
        return {
          results: new Map(verdict.results.map(({ id, content }) => [id, content])),
          digests: digests ?? digestsOf(continuation, request, sessionId),
          messages: verdict.after,
          idempotency: key === null ? null : { key, requestHash },
          about: Object.keys(about).length === 0 ? null : about,
          parameters,
        };
      });
      return answer === null ? null : { answer, isAttached: false, ignored: mode.ignored, allowance: null };
    } catch (error) {
      if (isConcurrentWrite(error)) return null;
      throw error;
    }
  }
}

function toPending({ model, agent }: Answer, callIds: readonly string[]): PendingRun {
  return { models: agent === null ? [model] : [model, agent], callIds };
}

function keyMismatch(): OpenAiError {
  return new OpenAiError({
    status: 422,
    message: 'Idempotency-Key was used with a different request body',
    param: 'idempotency-key',
    code: 'idempotency_key_mismatch',
  });
}
