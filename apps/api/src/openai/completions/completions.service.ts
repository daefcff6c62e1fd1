import { Injectable } from '@nestjs/common';

import type { MemberPrincipal } from '#auth';
import {
  type Answer,
  AnswersRepository,
  type ContinuationOrder,
  Continuations,
  isOvertaken,
  type KnownAnswers,
} from '#chat';

import { ModelDirectory } from '../models/model-directory.js';
import { OpenAiError } from '../openai-error.js';
import { checkContinuation, type PendingRun, sessionBusy } from '../request/check-continuation.js';
import { chooseMode, type Mode, withoutServerTools } from '../request/choose-mode.js';
import type { CompletionHeaders } from '../request/completion-headers.js';
import type { CompletionRequest } from '../request/completion-request.js';
import { type Continuation, readContinuation, resultsDigest } from '../request/continuation.js';
import { callIdsIn, prepareMessages } from '../request/prepare-messages.js';
import { serverBusy } from '../to-openai-reply.js';
import { AgentToolNames } from './agent-tool-names.js';
import { AnswerStarts } from './answer-starts.js';
import { attached, type OpenedAnswer } from './opened-answer.js';
import { repetitionDigest } from './repetition-digest.js';

/** A request as it was read. */
export interface AskedCompletion {
  readonly request: CompletionRequest;
  readonly headers: CompletionHeaders;
}

/** What is known of a request before anything is begun for it. */
interface Situation extends AskedCompletion {
  readonly continuation: Continuation;
  readonly digest: string | null;
  readonly sessionId: string | null;
  readonly known: KnownAnswers;
  readonly mode: Mode;
}

/** Another request has come first: everything has to be looked at again, or, when that was often enough, refused. */
interface Overtaken {
  readonly refusal: OpenAiError;
}

/** Requests of one session that come together look again when they have lost a race; more often than this is no accident. */
const maxLooks = 20;

/** Finds the answer that a request gets: that of an earlier one like it, the next of a run that waits for it, or a new one. */
@Injectable()
export class Completions {
  constructor(
    private readonly answers: AnswersRepository,
    private readonly continuations: Continuations,
    private readonly starts: AnswerStarts,
    private readonly models: ModelDirectory,
    private readonly agentTools: AgentToolNames,
  ) {}

  /** Throws `OpenAiError` by the tables of the contract, `rate_limited`, `job_limit_reached` and what starts throw besides. */
  async open(principal: MemberPrincipal, asked: AskedCompletion): Promise<OpenedAnswer> {
    let refusal: OpenAiError = serverBusy();
    for (let look = 0; look < maxLooks; look++) {
      const opened = (await this.repeated(principal, asked)) ?? (await this.lookOrRepeat(principal, asked));
      if ('answer' in opened) return opened;
      refusal = opened.refusal;
    }
    throw refusal;
  }

  /** What its key stands for already; null: nothing yet. */
  private async repeated(principal: MemberPrincipal, { headers, request }: AskedCompletion) {
    const { idempotencyKey: key } = headers;
    const answer = key === null ? null : await this.answers.findByKey(principal, key);
    if (answer === null) return null;
    if (answer.requestHash !== request.bodyHash) throw keyMismatch();
    return attached(answer);
  }

  /** What is refused since one with the same key came first is a repetition of that one. */
  private async lookOrRepeat(principal: MemberPrincipal, asked: AskedCompletion): Promise<OpenedAnswer | Overtaken> {
    try {
      return await this.look(principal, asked);
    } catch (error) {
      const repeated = error instanceof OpenAiError ? await this.repeated(principal, asked) : null;
      if (repeated === null) throw error;
      return repeated;
    }
  }

  private async look(principal: MemberPrincipal, asked: AskedCompletion): Promise<OpenedAnswer | Overtaken> {
    const situation = await this.situationOf(principal, asked);
    const opened = await this.opened(principal, situation);
    return opened ?? { refusal: situation.mode.strictBy === null ? serverBusy() : sessionBusy() };
  }

  /** Null: it was overtaken, and has to be looked at again. */
  private async opened(principal: MemberPrincipal, situation: Situation): Promise<OpenedAnswer | null> {
    if (situation.mode.strictBy === null) return this.begin(principal, situation);
    const run = runOf(situation);
    const repeated = repetitionOf(situation, run);
    if (repeated !== null) return attached(repeated, situation.mode.ignored);
    if (run?.state === 'paused') return this.goOn(principal, run, situation);
    const { continuation, request } = situation;
    const isBusy = run?.state === 'busy';
    checkContinuation({ isBusy, pending: null, model: request.model, continuation });
    return this.begin(principal, situation);
  }

  private async situationOf(principal: MemberPrincipal, { headers, request }: AskedCompletion): Promise<Situation> {
    const continuation = readContinuation(request.messages);
    const digest = repetitionDigest(continuation);
    const sessionId = headers.sessionId ?? (headers.format === 'openai' ? null : headers.frontEndSessionId);
    const callIds = [...new Set(continuation.results.map(({ id }) => id))];
    // Nothing of a request without session and results can be known.
    const isKnowable = sessionId !== null || callIds.length > 0;
    const found = isKnowable ? await this.answers.known(principal, { sessionId, callIds, digest }) : nothing;
    const known = within(found, { sessionId, continuation, model: request.model });
    const answersPending = continuation.endsWithResults && (known.pending ?? known.applied) !== null;
    const isWorkflow = /^(?:workflow|team)\//.test(request.model);
    const mode = chooseMode({ headers, request, isWorkflow, answersPending });
    return { headers, request, continuation, digest, sessionId, known, mode };
  }

  private async begin(principal: MemberPrincipal, situation: Situation): Promise<OpenedAnswer | null> {
    const { request, headers, continuation, digest, sessionId, known, mode } = situation;
    const target = await this.models.resolve(principal, request.model);
    const serverTools = await this.agentTools.among(principal, target, mode.tools);
    const offered = withoutServerTools(mode, serverTools);
    const shown =
      sessionId === null ? [] : await this.answers.callsOf(principal, sessionId, callIdsIn(request.messages));
    const order = {
      ...{ target, request, mode: offered, sessionId, session: known.session },
      messages: prepareMessages(request.messages, new Map(shown.map((call) => [call.id, call]))),
      unanswered: digest === null ? null : (continuation.results[0]?.id ?? null),
      idempotencyKey: headers.idempotencyKey,
    };
    const isStrict = mode.strictBy !== null;
    const { latest = null } = known.session ?? {};
    const isBeside = !isStrict && latest !== null && latest.state !== 'over';
    const first = await this.starts.start(principal, { ...order, isBeside });
    // The thread is busy with what somebody else has started in it.
    if (first.type === 'thread-busy' && isStrict) throw sessionBusy();
    const begun =
      first.type === 'thread-busy' ? await this.starts.start(principal, { ...order, isBeside: true }) : first;
    if (begun.type === 'started')
      return { answer: begun.answer, isAttached: false, ignored: offered.ignored, allowance: begun.allowance };
    if (begun.type === 'replayed') return this.replayed(principal, situation);
    return null;
  }

  /** Its key has started a job before: here, since another start of it is through by now, or at another door. */
  private async replayed(principal: MemberPrincipal, situation: Situation): Promise<OpenedAnswer> {
    const repeated = await this.repeated(principal, situation);
    if (repeated === null) throw keyMismatch();
    return repeated;
  }

  private async goOn(
    principal: MemberPrincipal,
    run: Answer,
    { request, headers, continuation, digest, mode }: Situation,
  ): Promise<OpenedAnswer | null> {
    const { idempotencyKey: key } = headers;
    const { model, bodyHash: requestHash, about } = request;
    try {
      const answer = await this.continuations.apply(principal, run, (held): ContinuationOrder | null => {
        if (held.answer.state !== 'paused') return null;
        const pending = toPending(held.answer, held.callIds);
        const verdict = checkContinuation({ isBusy: false, pending, model, continuation });
        if (verdict.type === 'new') return null;
        return {
          results: new Map(verdict.results.map(({ id, content }) => [id, content])),
          digest: digest ?? resultsDigest(continuation.results),
          said: verdict.after,
          idempotency: key === null ? null : { key, requestHash },
          about: Object.keys(about).length === 0 ? null : about,
        };
      });
      return answer === null ? null : { answer, isAttached: false, ignored: mode.ignored, allowance: null };
    } catch (error) {
      if (isOvertaken(error)) return null;
      throw error;
    }
  }
}

const nothing: KnownAnswers = { session: null, pending: null, applied: null };

/**
 * Of what was found by ids, what this request can mean: results that an assistant has answered are history; a session goes on
 * with its own runs; and an answer is repeated for those only who ask the same model.
 */
function within(
  found: KnownAnswers,
  { sessionId, continuation, model }: Pick<Situation, 'sessionId' | 'continuation'> & { readonly model: string },
): KnownAnswers {
  const { pending, applied } = found;
  const isHistory = continuation.after.some(({ role }) => role === 'assistant');
  const isForeign =
    sessionId !== null && pending !== null && pending.sessionId !== null && pending.sessionId !== sessionId;
  const isOther = applied !== null && model !== 'auto' && applied.model !== model && applied.agent !== model;
  return { ...found, pending: isHistory || isForeign ? null : pending, applied: isOther ? null : applied };
}

/** The run that strict rules are about: that of the session, or, where the body chose them, of the calls it answers. */
function runOf({ mode, known: { session, pending, applied } }: Situation): Answer | null {
  const ofSession = session?.latest ?? null;
  return mode.strictBy === 'header' ? ofSession : (pending ?? ofSession ?? applied);
}

/** The answer of a continuation that was applied before, by a request just like this one. */
function repetitionOf({ known: { applied } }: Situation, run: Answer | null): Answer | null {
  return applied !== null && run?.jobId === applied.jobId && run.state !== 'busy' ? applied : null;
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
