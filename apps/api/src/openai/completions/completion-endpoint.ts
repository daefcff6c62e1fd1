import { Injectable } from '@nestjs/common';
import type { Request, Response } from 'express';

import type { MemberPrincipal } from '#auth';
import type { Allowance } from '#platform';
import { OpenStreams } from '#platform/api';

import { acquireStreamSlot } from '../acquire-stream-slot.js';
import { noRetryAfterOnce } from '../no-retry-after-once.js';
import { toIgnoredHeader } from '../request/choose-mode.js';
import { parseCompletionHeaders } from '../request/completion-headers.js';
import { parseCompletionRequest } from '../request/completion-request.js';
import { bodyOf } from '../request/invalid-body.js';
import { AnswerContext } from './answer-context.js';
import { AnswerLimiters } from './answer-limiters.js';
import { AnswerServer } from './answer-server.js';
import { Completions } from './completions.service.js';
import type { OpenedAnswer } from './opened-answer.js';
import type { AskedCompletion } from './situations.js';

/** Serves one request to `/v1/chat/completions` from start to end. */
@Injectable()
export class CompletionEndpoint {
  constructor(
    private readonly completions: Completions,
    private readonly server: AnswerServer,
    private readonly limiters: AnswerLimiters,
    private readonly open: OpenStreams,
    private readonly context: AnswerContext,
  ) {}

  /** Throws the error to send instead of a response; with `X-Job-Id` set, the job keeps running. */
  async answer(principal: MemberPrincipal, request: Request, response: Response): Promise<void> {
    const asked = {
      headers: parseCompletionHeaders(request.headers),
      request: parseCompletionRequest(bodyOf(request), this.context.values.MAX_MESSAGES),
    };
    const closing = new AbortController();
    const max = this.context.values.OPENAI_ANSWERS_PER_PRINCIPAL;
    const slot = acquireStreamSlot(this.open, principal, { closing, max });
    try {
      this.setLimitHeaders(response, this.limiters.chats.peek(principal));
      const opened = await this.completions.open(principal, asked);
      this.setHeaders(response, asked, opened);
      const { stream, includeUsage } = asked.request;
      const cancels = asked.headers.onDisconnect === 'cancel';
      const listener = { principal, response, stream, includeUsage, cancels, signal: closing.signal };
      const hasRunOnce = () => this.context.hasRunOnce(opened.answer);
      await noRetryAfterOnce(response, hasRunOnce, () => this.server.serve(opened, listener));
    } finally {
      slot.leave();
    }
  }

  private setHeaders(response: Response, { headers }: AskedCompletion, { answer, ...opened }: OpenedAnswer): void {
    // The id that a chat front end sends names a session only if the response is not strict.
    const sessionId = headers.sessionId ?? (answer.format === 'openai' ? null : headers.frontEndSessionId);
    const ignored = toIgnoredHeader(opened.ignored);
    response.setHeader('X-Job-Id', answer.jobId);
    if (sessionId !== null) response.setHeader('X-Session-Id', sessionId);
    if (ignored !== null) response.setHeader('X-Ignored', ignored);
    if (opened.allowance !== null) this.setLimitHeaders(response, opened.allowance);
  }

  private setLimitHeaders(response: Response, { limit, remaining, retryAfterSeconds }: Allowance): void {
    response.setHeader('x-ratelimit-limit-requests', String(limit));
    response.setHeader('x-ratelimit-remaining-requests', String(remaining));
    response.setHeader('x-ratelimit-reset-requests', `${retryAfterSeconds}s`);
  }
}
