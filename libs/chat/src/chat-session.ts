import { type JobOutcome, type JobRun, roundRow } from '#jobs';
import { crashpoint, systemClock } from '#platform';
import { type LedgerCall, toToolCallItem } from '#tools';

import { HeldRound } from './calls/held-round.js';
import type { JobCalls } from './calls/job-calls.js';
import { unlessCancelled } from './calls/job-calls.js';
import { type FinishedRound, type RoundFinished, roundWrite } from './calls/round-write.js';
import type { Conversation } from './history/conversation.repository.js';
import type { LoopInput, LoopOutcome, LoopReply, LoopStep, OpenRound } from './loop/loop-step.js';
import { toolLoop } from './loop/tool-loop.js';

/**
 * One run of a chat job: the consumer of the loop. Streams text, commits each round before its first tool starts, has the
 * calls run, and leaves the thread valid whatever ends the run.
 */
export class ChatSession {
  private held: HeldRound | undefined;
  private roundStartedAt = Date.now();
  private modelName = '';

  constructor(
    private readonly run: JobRun,
    private readonly calls: JobCalls,
  ) {}

  async answer(input: LoopInput): Promise<JobOutcome> {
    this.modelName = input.modelName;
    const loop = toolLoop(input);
    let reply: LoopReply;
    for (;;) {
      const next = await loop.next(reply);
      reply = undefined;
      if (next.done === true) return this.rest(next.value);
      const step = next.value;
      if (this.run.draining && step.type === 'round-started') {
        await loop.return({ type: 'stopped', code: 'aborted', message: '', cause: undefined, open: null });
        return { status: 'released' };
      }
      reply = await this.take(step);
    }
  }

  private async take(step: LoopStep): Promise<LoopReply> {
    this.run.assertValid();
    switch (step.type) {
      case 'round-started':
        this.roundStartedAt = Date.now();
        this.run.append({ events: [{ type: 'round-started', body: { round: step.round, model: this.modelName } }] });
        return undefined;
      case 'text':
        await this.run.text(step.round, step.text);
        return undefined;
      case 'reasoning':
        await this.run.reasoning(step.round, step.text);
        return undefined;
      case 'round-restarted':
        this.run.restartRound(step.round, step.reason);
        return undefined;
      case 'round-finished':
        crashpoint('after-response');
        await this.commitRound(step);
        crashpoint('after-round-commit');
        return undefined;
      case 'run-calls':
        return this.runCalls(step);
    }
  }

  /** One commit: the round, its calls, their start, the requests about them. */
  private async commitRound(step: RoundFinished): Promise<void> {
    const { job } = this.run;
    const routes = await this.calls.routeRound(step);
    const contentLength = this.run.closeRound();
    const { modelName, roundStartedAt: startedAt } = this;
    const round: FinishedRound = { step, routes, modelName, startedAt, contentLength };
    const goings = [...routes.values()].map(({ type }) => type);
    const starts = goings.some((type) => type === 'run' || type === 'queue');
    let cancelled = false;
    if (!starts) {
      // Nothing starts, so nothing waits for the disk: it goes with the next commit, which ends the job's run or parks it.
      this.run.append(roundWrite(job, round, () => ({ status: 'running' })));
    } else if (goings.every((type) => type === 'run') && isPure(step)) {
      this.held = new HeldRound(this.run, round, systemClock);
    } else {
      cancelled = !(await this.commitAndStart(round));
    }
    this.calls.committed(step, { cancelled });
  }

  /** False: a cancel came first, and the calls were committed as cancelled. */
  private async commitAndStart(round: FinishedRound): Promise<boolean> {
    const { job } = this.run;
    const write = roundWrite(job, round, () => ({ status: 'running' }));
    if (await unlessCancelled(this.run, () => this.run.commitUnlessCancelled(write))) return true;
    await this.run.commit(roundWrite(job, round, () => ({ status: 'cancelled' })));
    return false;
  }

  private async runCalls(step: Extract<LoopStep, { type: 'run-calls' }>): Promise<LoopReply> {
    const { held } = this;
    this.held = undefined;
    let results;
    try {
      results = await this.calls.settle(step, held);
    } finally {
      held?.close();
    }
    if (held?.needsDisk === true) await this.run.commit();
    return { results };
  }

  private async rest(outcome: LoopOutcome): Promise<JobOutcome> {
    switch (outcome.type) {
      case 'finished':
        return { status: 'completed', reason: outcome.reason };
      case 'waiting':
        return { status: 'waiting', interruptIds: this.calls.interruptIds };
      case 'stopped':
        await this.calls.closeAll();
        this.keepOpenText(outcome.open);
        return { status: 'failed', code: outcome.code, message: outcome.message };
    }
  }

  /** A turn that ends in the middle keeps what was shown; a turn that goes on elsewhere must not. */
  private keepOpenText(open: OpenRound | null): void {
    if (this.calls.goOnElsewhere || open === null || (open.text === '' && open.reasoning === '')) return;
    const { round, text, reasoning } = open;
    const row = roundRow(this.run.job, {
      number: round,
      model: this.modelName,
      text,
      reasoning,
      finishReason: 'interrupted',
      partial: true,
      promptTokens: 0,
      completionTokens: 0,
      usageEstimated: true,
      startedAt: this.roundStartedAt,
    });
    this.run.append({ rows: [row], counts: { contentLength: this.run.closeRound() } });
  }
}

/** What an earlier worker left behind: shown text of a round that was never committed, and calls nobody can vouch for. */
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

function isPure({ calls }: RoundFinished): boolean {
  return calls.every(({ effect, disposition }) => disposition.type === 'settled' || effect === 'pure');
}
