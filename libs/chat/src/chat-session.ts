import { type JobOutcome, type JobRun } from '#jobs';
import { type LedgerCall, toToolCallItem } from '#tools';

import type { JobCalls } from './calls/job-calls.js';
import type { Conversation } from './history/conversation.repository.js';
import type { LoopInput } from './loop/loop-step.js';
import { type Asking, LoopSession, type SessionEnd } from './loop-session.js';

/** One run of a chat job: runs its conversation and derives the job's outcome. Leaves the thread valid in every case. */
export class ChatSession {
  private readonly session: LoopSession;

  constructor(
    run: JobRun,
    private readonly calls: JobCalls,
    asking: Asking,
  ) {
    this.session = new LoopSession(run, calls, asking);
  }

  async answer(input: LoopInput): Promise<JobOutcome> {
    const end = await this.session.drive(input);
    switch (end.type) {
      case 'finished':
        return { status: 'completed', reason: end.reason };
      case 'waiting':
        return { status: 'waiting', interruptIds: this.calls.interruptIds };
      case 'refused':
        await this.calls.close();
        return toOutcome(end);
      case 'released':
      case 'paused':
        return toOutcome(end);
      case 'stopped':
        if (!this.calls.continuesElsewhere) {
          await this.calls.close();
          this.session.keepOpenText(end.open);
        }
        return { status: 'failed', code: end.code, message: end.message };
    }
  }
}

/** The outcome of a chat job that does not call its model now. */
export function toOutcome(end: Extract<SessionEnd, { type: 'released' | 'paused' | 'refused' }>): JobOutcome {
  switch (end.type) {
    case 'released':
      return { status: 'released' };
    case 'paused':
      return { status: 'waiting', interruptIds: [end.interruptId] };
    case 'refused':
      return { status: 'failed', code: end.error.code, message: end.error.message };
  }
}

/** Cleans up after an earlier worker: withdraws the text of an uncommitted round and shows calls with an unknown outcome. */
export function takeOver(run: JobRun, { openRound, rounds, calls }: Conversation): void {
  run.resumeReasoningAt(rounds.reduce((sum, { reasoning }) => sum + reasoning.length, 0));
  if (openRound !== null) run.restartRound(openRound, 'worker_lost');
  for (const call of lostCalls(run, calls)) {
    const body = { round: call.round, internalStatus: call.status, call: toToolCallItem(call) };
    run.append({ events: [{ type: 'tool-call-updated', body }] });
  }
}

function lostCalls(run: JobRun, calls: readonly LedgerCall[]): readonly LedgerCall[] {
  const lost = new Set(run.takeInterrupted().map(({ round, ordinal }) => `${round}:${ordinal}`));
  return calls.filter(({ round, ordinal }) => lost.has(`${round}:${ordinal}`));
}
