import { Injectable } from '@nestjs/common';

import type { MemberPrincipal } from '#auth';
import { AnswersRepository, type AppliedAnswer, AppliedRuns } from '#chat';

import { ModelDirectory } from '../models/model-directory.js';
import { sessionBusy } from '../request/check-continuation.js';
import { type Mode, withoutServerTools } from '../request/choose-mode.js';
import { callIdsIn, prepareMessages } from '../request/prepare-messages.js';
import { resumedMessages } from '../request/resumed-messages.js';
import { AgentToolNames } from './agent-tool-names.js';
import { AnswerStarts, type NewAnswerOrder } from './answer-starts.js';
import type { OpenedAnswer } from './opened-answer.js';
import { appliedOf, type Situation } from './situations.js';

/** Starts the job of a request that neither repeats an earlier one nor continues a run. */
@Injectable()
export class NewAnswers {
  constructor(
    private readonly answers: AnswersRepository,
    private readonly runs: AppliedRuns,
    private readonly starts: AnswerStarts,
    private readonly models: ModelDirectory,
    private readonly agentTools: AgentToolNames,
  ) {}

  /**
   * `replayed`: the idempotency key has already started a job. Null: another request committed first, and the situation must be read again.
   * Throws as `Completions.open`.
   */
  async begin(principal: MemberPrincipal, situation: Situation): Promise<OpenedAnswer | 'replayed' | null> {
    const { request, headers, continuation, sessionId, known, mode } = situation;
    const applied = appliedOf(situation);
    const target = await this.models.resolve(principal, modelOf(situation, applied));
    const serverTools = await this.agentTools.among(principal, target, mode.tools);
    const offered = withoutServerTools(mode, serverTools);
    const order = {
      ...{ target, request, sessionId, session: known.session },
      ...(await this.conversation(principal, situation, applied)),
      mode: applied === null ? offered : { ...offered, toolChoice: afterFirstRound(offered.toolChoice) },
      unanswered: situation.digests === null ? null : (continuation.results[0]?.id ?? null),
      idempotencyKey: headers.idempotencyKey,
    };
    const isStrict = mode.strictBy !== null;
    const { latest = null } = known.session ?? {};
    // If the body chose strict mode, a paused run of the session that was never continued does not block a new request.
    const yields = !isStrict || (mode.strictBy === 'body' && latest?.state === 'paused');
    const isBeside = yields && latest !== null && latest.state !== 'over';
    const first = await this.starts.start(principal, { ...order, isBeside });
    // The thread is busy with a job that another API started in it.
    if (first.type === 'thread-busy' && isStrict) throw sessionBusy();
    const begun =
      first.type === 'thread-busy' ? await this.starts.start(principal, { ...order, isBeside: true }) : first;
    if (begun.type === 'started')
      return { answer: begun.answer, isAttached: false, ignored: offered.ignored, allowance: begun.allowance };
    return begun.type === 'replayed' ? 'replayed' : null;
  }

  /** The messages for the model. If an earlier run applied the results, they include all rounds of that run. */
  private async conversation(
    principal: MemberPrincipal,
    { request, continuation, digests, sessionId }: Situation,
    applied: AppliedAnswer | null,
  ): Promise<Pick<NewAnswerOrder, 'messages' | 'applied' | 'resumes'>> {
    const shown =
      sessionId === null ? [] : await this.answers.callsOf(principal, sessionId, callIdsIn(request.messages));
    const messages = prepareMessages(request.messages, new Map(shown.map((call) => [call.id, call])));
    if (applied === null || digests === null) return { messages, applied: null, resumes: null };
    const run = await this.runs.read(principal, applied.answer);
    const resumed = run === null ? null : resumedMessages(messages, run, continuation);
    return { messages: resumed ?? messages, applied: { ...digests, messages: [] }, resumes: applied.answer.id };
  }
}

/** `auto` keeps the agent that the run chose. */
function modelOf({ request: { model } }: Situation, applied: AppliedAnswer | null): string {
  return model === 'auto' ? (applied?.answer.agent ?? model) : model;
}

/** A forced tool choice applies to the first round of a run only. */
function afterFirstRound(choice: Mode['toolChoice']): Mode['toolChoice'] {
  return choice === null || choice === 'none' ? choice : 'auto';
}
