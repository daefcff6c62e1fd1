import { CancelRequested, endsJob, JobCancelled, type JobOutcome, type JobRun, roundRow } from '#jobs';
import { crashpoint, systemClock } from '#platform';
import { CANCELLED_TEXT, isOpen, settleCallRow, toToolCallItem } from '#tools';

import { HeldRound } from './held-round.js';
import type { Conversation } from './history/conversation.repository.js';
import type { LoopInput, LoopOutcome, LoopReply, LoopStep, OpenRound } from './loop/loop-step.js';
import { toolLoop } from './loop/tool-loop.js';
import { type FinishedRound, type RoundFinished, roundWrite } from './round-write.js';
import type { ToolRunner } from './tool-runner.js';

/**
 * One run of a chat job: the consumer of the loop. Streams text, commits each round before its first tool starts, has the
 * calls run, and leaves the thread valid whatever ends the run.
 */
export class ChatSession {
  /** Ordinals of the last committed round whose start was part of its commit. */
  private started: ReadonlySet<number> = new Set();
  private held: HeldRound | undefined;
  private roundStartedAt = Date.now();
  private modelName = '';

  constructor(
    private readonly run: JobRun,
    private readonly tools: ToolRunner,
    private readonly conversation: Conversation,
  ) {}

  /** Settles what an earlier worker left open, for a job that fails before it can go on. */
  abandon(): void {
    this.resume();
    this.closeTurn(null);
  }

  async answer(input: LoopInput): Promise<JobOutcome> {
    this.modelName = input.modelName;
    this.resume();
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

  /** What an earlier worker left behind: shown text of a round that was never committed, and calls nobody can vouch for. */
  private resume(): void {
    const { openRound, rounds, calls } = this.conversation;
    this.run.resumeReasoningAt(rounds.reduce((sum, { reasoning }) => sum + reasoning.length, 0));
    if (openRound !== null) this.run.restartRound(openRound, 'worker_lost');
    const lost = new Set(this.run.job.interrupted?.map(({ round, ordinal }) => `${round}:${ordinal}`));
    for (const call of calls.filter(({ round, ordinal }) => lost.has(`${round}:${ordinal}`))) {
      const body = { round: call.round, internalStatus: call.status, call: toToolCallItem(call) };
      this.run.append({ events: [{ type: 'tool-call-updated', body }] });
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

  /** One commit: the round, its calls, their start. Refused starts (a cancel came first) are committed as cancelled calls. */
  private async commitRound(step: RoundFinished): Promise<void> {
    const { job } = this.run;
    const runnable = step.calls.filter(({ disposition }) => disposition.type === 'run');
    const contentLength = this.run.closeRound();
    const round: FinishedRound = { step, modelName: this.modelName, startedAt: this.roundStartedAt, contentLength };
    this.started = new Set(runnable.map(({ ordinal }) => ordinal));
    if (runnable.length === 0) {
      // Nothing starts, so nothing waits for the disk: it goes with the next commit, usually the job's last.
      this.run.append(roundWrite(job, round, () => ({ status: 'pending' })));
    } else if (runnable.every(({ effect }) => effect === 'pure')) {
      this.held = new HeldRound(this.run, round, systemClock);
    } else {
      await this.commitAndStart(round);
    }
  }

  private async commitAndStart(round: FinishedRound): Promise<void> {
    const { job } = this.run;
    try {
      await this.run.commitUnlessCancelled(roundWrite(job, round, () => ({ status: 'running' })));
    } catch (error) {
      if (!(error instanceof CancelRequested)) throw error;
      this.started = new Set();
      await this.run.commit(roundWrite(job, round, () => ({ status: 'cancelled' })));
      this.run.abort(new JobCancelled());
    }
  }

  private async runCalls(step: Extract<LoopStep, { type: 'run-calls' }>): Promise<LoopReply> {
    const { held, started } = this;
    this.held = undefined;
    try {
      return { results: await this.tools.runCalls(this.run, step, { started, held }) };
    } finally {
      held?.close();
    }
  }

  private rest(outcome: LoopOutcome): JobOutcome {
    switch (outcome.type) {
      case 'finished':
        return { status: 'completed', reason: outcome.reason };
      case 'waiting':
        return { status: 'failed', code: 'internal', message: 'A tool call was left open' };
      case 'stopped':
        this.closeTurn(outcome.open);
        return { status: 'failed', code: outcome.code, message: outcome.message };
    }
  }

  /** A turn that ends in the middle keeps what was shown; a turn that goes on elsewhere must not. */
  private closeTurn(open: OpenRound | null): void {
    const reason: unknown = this.run.signal.reason;
    if (this.run.signal.aborted && !endsJob(reason)) return;
    this.settleOpenCalls();
    if (open === null || (open.text === '' && open.reasoning === '')) return;
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

  /** Calls an earlier worker left open, in a job that is stopped before they could run again. */
  private settleOpenCalls(): void {
    for (const call of this.conversation.calls.filter(({ status }) => isOpen(status))) {
      if (this.tools.hasSettled(this.run, call)) continue;
      const failure = { phase: 'execution', message: CANCELLED_TEXT } as const;
      const item = toToolCallItem({ ...call, status: 'cancelled', error: failure });
      this.run.append({
        rows: [settleCallRow(this.run.job, call, { status: 'cancelled', failure })],
        events: [{ type: 'tool-call-updated', body: { round: call.round, internalStatus: 'cancelled', call: item } }],
      });
    }
  }
}
