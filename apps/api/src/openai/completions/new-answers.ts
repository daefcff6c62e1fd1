import { Injectable } from '@nestjs/common';

import type { MemberPrincipal } from '#auth';
import { AnswersRepository } from '#chat';

import { ModelDirectory } from '../models/model-directory.js';
import { sessionBusy } from '../request/check-continuation.js';
import { withoutServerTools } from '../request/choose-mode.js';
import { callIdsIn, prepareMessages } from '../request/prepare-messages.js';
import { AgentToolNames } from './agent-tool-names.js';
import { AnswerStarts } from './answer-starts.js';
import type { OpenedAnswer } from './opened-answer.js';
import type { Situation } from './situations.js';

/** Starts the job of a request that neither repeats an earlier one nor continues a run. */
@Injectable()
export class NewAnswers {
  constructor(
    private readonly answers: AnswersRepository,
    private readonly starts: AnswerStarts,
    private readonly models: ModelDirectory,
    private readonly agentTools: AgentToolNames,
  ) {}

  /**
   * `replayed`: the idempotency key has started a job before. Null: another request came first, and the situation has to be read
   * again. Throws as `Completions.open`.
   */
  async begin(principal: MemberPrincipal, situation: Situation): Promise<OpenedAnswer | 'replayed' | null> {
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
    // The thread is busy with a job that another API started in it.
    if (first.type === 'thread-busy' && isStrict) throw sessionBusy();
    const begun =
      first.type === 'thread-busy' ? await this.starts.start(principal, { ...order, isBeside: true }) : first;
    if (begun.type === 'started')
      return { answer: begun.answer, isAttached: false, ignored: offered.ignored, allowance: begun.allowance };
    return begun.type === 'replayed' ? 'replayed' : null;
  }
}
