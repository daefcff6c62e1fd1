import { Injectable } from '@nestjs/common';

import type { MemberPrincipal } from '#auth';
import {
  type Answer,
  AnswersRepository,
  type AppliedAnswer,
  AppliedRuns,
  type ContinuationDigests,
  type KnownAnswers,
} from '#chat';

import { chooseMode, type Mode } from '../request/choose-mode.js';
import type { CompletionHeaders } from '../request/completion-headers.js';
import type { CompletionRequest } from '../request/completion-request.js';
import { type Continuation, readContinuation } from '../request/continuation.js';
import { withoutBlocks } from '../request/prepare-messages.js';
import { continuesRun } from '../request/resumed-messages.js';
import { repetitionDigests } from './repetition-digests.js';

/** The parsed request. */
export interface AskedCompletion {
  readonly request: CompletionRequest;
  readonly headers: CompletionHeaders;
}

/** The stored state that belongs to a request, before the request changes anything. */
export interface Situation extends AskedCompletion {
  readonly continuation: Continuation;
  /** Null: the request has no results that an earlier request may have applied. */
  readonly digests: ContinuationDigests | null;
  /** Names the session of the request; null: it has none. */
  readonly sessionId: string | null;
  readonly known: KnownAnswers;
  readonly mode: Mode;
}

/** Finds what the server knows about a request: its session, the run that waits for it, and an earlier request like it. */
@Injectable()
export class Situations {
  constructor(
    private readonly answers: AnswersRepository,
    private readonly runs: AppliedRuns,
  ) {}

  /** Throws `OpenAiError` if the requested mode is not possible. */
  async of(principal: MemberPrincipal, { headers, request }: AskedCompletion): Promise<Situation> {
    const continuation = readContinuation(request.messages);
    const asked = { headers, request, continuation };
    const named = await this.within(principal, asked, headers.sessionId);
    const { frontEndSessionId } = headers;
    // Chat front ends send these ids with each request of a chat, so in strict mode they would make unrelated runs collide.
    if (named.mode.strictBy !== null || headers.sessionId !== null || frontEndSessionId === null) return named;
    return { ...(await this.within(principal, asked, frontEndSessionId)), mode: named.mode };
  }

  private async within(
    principal: MemberPrincipal,
    asked: Pick<Situation, 'headers' | 'request' | 'continuation'>,
    sessionId: string | null,
  ): Promise<Situation> {
    const { headers, request, continuation } = asked;
    const digests = repetitionDigests(continuation, request, sessionId);
    const callIds = [...new Set(continuation.results.map(({ id }) => id))];
    // A request without a session and without results has no stored state.
    const isKnowable = sessionId !== null || callIds.length > 0;
    const { model } = request;
    const found = isKnowable ? await this.answers.known(principal, { sessionId, callIds, digests, model }) : nothing;
    const pending = pendingFor(found, { continuation, sessionId });
    const isMeant = pending === null || !found.isIdReused || (await this.continues(principal, pending, request));
    const known = { ...found, pending: isMeant ? pending : null };
    const answersPending = continuation.endsWithResults && (known.pending ?? known.applied) !== null;
    const isWorkflow = /^(?:workflow|team)\//.test(model);
    const mode = chooseMode({ headers, request, isWorkflow, answersPending });
    return { ...asked, sessionId, digests, known, mode };
  }

  /** Providers use the same ids for calls in all conversations, so results of another conversation must not reach this run. */
  private async continues(principal: MemberPrincipal, pending: Answer, { messages }: CompletionRequest) {
    const run = await this.runs.read(principal, pending);
    return run === null || continuesRun(withoutBlocks(messages), run);
  }
}

const nothing: KnownAnswers = { session: null, pending: null, isIdReused: false, applied: null };

/** Results that an assistant has answered are history, and a session continues its own runs only. */
function pendingFor(
  { pending }: KnownAnswers,
  { continuation, sessionId }: Pick<Situation, 'continuation' | 'sessionId'>,
): Answer | null {
  const isHistory = continuation.after.some(({ role }) => role === 'assistant');
  const isForeign = sessionId !== null && (pending?.sessionId ?? sessionId) !== sessionId;
  return isHistory || isForeign ? null : pending;
}

/**
 * The run that strict mode checks. If a header chose strict mode, it is the latest run of the session. If the body chose it, it is the
 * run that the results belong to; other paused runs are ignored, because clients that force a call for structured output never
 * continue them.
 */
export function runOf({ mode, continuation, known: { session, pending, applied } }: Situation): Answer | null {
  const latest = session?.latest ?? null;
  if (mode.strictBy === 'header') return latest;
  const isInTheWay = latest?.state !== 'paused' || continuation.results.length > 0;
  return pending ?? applied?.answer ?? (isInTheWay ? latest : null);
}

/** The continuation that already applied the results of this request. Null: there is none, or it is not of the session's latest job. */
export function appliedOf({ mode, known: { session, applied } }: Situation): AppliedAnswer | null {
  if (applied === null || mode.strictBy === null) return null;
  return mode.strictBy === 'body' || session?.latest?.jobId === applied.answer.jobId ? applied : null;
}

/** The response that a repeated continuation gets again. A failed or cancelled response is not repeated. */
export function repetitionOf(situation: Situation): Answer | null {
  const { request, known } = situation;
  const applied = known.pending === null ? appliedOf(situation) : null;
  if (applied === null || !applied.isSame) return null;
  const { answer } = applied;
  const isModel = [answer.model, answer.agent, 'auto'].includes(request.model);
  return isModel && !['failed', 'cancelled'].includes(answer.job.status) ? answer : null;
}
