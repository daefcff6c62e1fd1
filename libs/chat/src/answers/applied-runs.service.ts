import { Injectable } from '@nestjs/common';

import { type Principal, scopeOf } from '#auth';
import { JobsRepository } from '#jobs';
import type { ChatMessage } from '#models';
import { isOpen } from '#tools';

import { ConversationRepository } from '../history/conversation.repository.js';
import { roundMessages } from '../history/round-messages.js';
import { toChatInput } from '../input/chat-input.js';
import type { LoopRound } from '../loop/loop-step.js';
import { toLoopRounds } from '../loop/to-loop-rounds.js';
import type { Answer } from './answer.js';
import { AnswersRepository } from './answers.repository.js';

/** The conversation of a run up to the results that a continuation applied. */
export interface AppliedRun {
  /** The conversation that the run started with. */
  readonly asked: readonly ChatMessage[];
  /** The run's committed rounds with the results of all their calls, including those of server tools, and the user messages between them. */
  readonly done: readonly ChatMessage[];
}

/** Reads runs whose results were applied, so that a new answer can resume from them without running a tool again. */
@Injectable()
export class AppliedRuns {
  constructor(
    private readonly jobs: JobsRepository,
    private readonly conversations: ConversationRepository,
    private readonly answers: AnswersRepository,
  ) {}

  /**
   * The run of `answer`, up to the start of the job's next answer. A round without calls ends the run: the new answer replaces that text.
   * Returns null if the job or its rounds were deleted.
   */
  async read(principal: Principal, answer: Answer): Promise<AppliedRun | null> {
    const { workspaceId, jobId, afterRound } = answer;
    const [found, { rounds, calls, messagesAfterRound }, end] = await Promise.all([
      this.jobs.findInputInScope(scopeOf(principal), jobId),
      this.conversations.load({ workspaceId, jobId, threadId: null, messageId: null }),
      this.answers.endOfWindow(answer),
    ]);
    if (found === null || found.job.kind !== 'chat') return null;
    const whole = rounds.filter(({ partial }) => !partial);
    const done = settledRounds(toLoopRounds(whole, calls), end ?? Number.POSITIVE_INFINITY);
    if ((done.at(-1)?.round ?? 0) < afterRound) return null;
    return {
      asked: toChatInput(found.input).messages,
      done: done.flatMap((round) => [...roundMessages(round), ...(messagesAfterRound.get(round.round) ?? [])]),
    };
  }
}

/** The rounds before the first one without calls, or with calls that have no result. */
function settledRounds(rounds: readonly LoopRound[], end: number): readonly LoopRound[] {
  const stop = rounds.findIndex(
    ({ round, calls }) => round >= end || calls.length === 0 || calls.some(({ status }) => isOpen(status)),
  );
  return stop === -1 ? rounds : rounds.slice(0, stop);
}
