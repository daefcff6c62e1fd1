import { Injectable } from '@nestjs/common';

import type { MemberPrincipal } from '#auth';
import { type Answer, AnswersRepository, type KnownAnswers } from '#chat';

import { chooseMode, type Mode } from '../request/choose-mode.js';
import type { CompletionHeaders } from '../request/completion-headers.js';
import type { CompletionRequest } from '../request/completion-request.js';
import { type Continuation, readContinuation } from '../request/continuation.js';
import { repetitionDigest } from './repetition-digest.js';

/** A request as it was read. */
export interface AskedCompletion {
  readonly request: CompletionRequest;
  readonly headers: CompletionHeaders;
}

/** What is known of a request before anything is begun for it. */
export interface Situation extends AskedCompletion {
  readonly continuation: Continuation;
  readonly digest: string | null;
  /** Names the session of the request; null: it has none. */
  readonly sessionId: string | null;
  readonly known: KnownAnswers;
  readonly mode: Mode;
}

/** Finds what the server knows about a request: its session, the run that waits for it, and an earlier request like it. */
@Injectable()
export class Situations {
  constructor(private readonly answers: AnswersRepository) {}

  /** Throws `OpenAiError` where the request asks for a mode that it cannot have. */
  async of(principal: MemberPrincipal, { headers, request }: AskedCompletion): Promise<Situation> {
    const continuation = readContinuation(request.messages);
    const digest = repetitionDigest(continuation);
    const asked = { headers, request, continuation, digest };
    const named = await this.within(principal, { ...asked, sessionId: headers.sessionId });
    const { frontEndSessionId } = headers;
    // Chat front ends send these ids with each request of a chat, so in strict mode they would make unrelated runs collide.
    if (named.mode.strictBy !== null || headers.sessionId !== null || frontEndSessionId === null) return named;
    return { ...(await this.within(principal, { ...asked, sessionId: frontEndSessionId })), mode: named.mode };
  }

  private async within(principal: MemberPrincipal, asked: Omit<Situation, 'known' | 'mode'>): Promise<Situation> {
    const { headers, request, continuation, digest, sessionId } = asked;
    const callIds = [...new Set(continuation.results.map(({ id }) => id))];
    // Nothing of a request without session and results can be known.
    const isKnowable = sessionId !== null || callIds.length > 0;
    const found = isKnowable ? await this.answers.known(principal, { sessionId, callIds, digest }) : nothing;
    const known = meant(found, asked);
    const answersPending = continuation.endsWithResults && (known.pending ?? known.applied) !== null;
    const isWorkflow = /^(?:workflow|team)\//.test(request.model);
    const mode = chooseMode({ headers, request, isWorkflow, answersPending });
    return { ...asked, known, mode };
  }
}

const nothing: KnownAnswers = { session: null, pending: null, applied: null };

/**
 * Of what was found by ids, what this request can mean: results that an assistant has answered are history; a session continues
 * its own runs only; and only a request for the same model repeats an answer.
 */
function meant(
  found: KnownAnswers,
  { sessionId, continuation, request }: Omit<Situation, 'known' | 'mode'>,
): KnownAnswers {
  const { pending, applied } = found;
  const { model } = request;
  const isHistory = continuation.after.some(({ role }) => role === 'assistant');
  const isForeign =
    sessionId !== null && pending !== null && pending.sessionId !== null && pending.sessionId !== sessionId;
  const isOther = applied !== null && model !== 'auto' && applied.model !== model && applied.agent !== model;
  return { ...found, pending: isHistory || isForeign ? null : pending, applied: isOther ? null : applied };
}

/** The run that strict rules are about: that of the session, or, where the body chose them, of the calls it answers. */
export function runOf({ mode, known: { session, pending, applied } }: Situation): Answer | null {
  const ofSession = session?.latest ?? null;
  return mode.strictBy === 'header' ? ofSession : (pending ?? ofSession ?? applied);
}

/** The answer of a continuation that was applied before, by a request just like this one. */
export function repetitionOf({ known: { applied } }: Situation, run: Answer | null): Answer | null {
  return applied !== null && run?.jobId === applied.jobId && run.state !== 'busy' ? applied : null;
}
