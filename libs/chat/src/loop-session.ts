import { type ModelStream, roundRow } from '#jobs';
import type { ModelUsage } from '#models';
import { type AppError, crashpoint, systemClock } from '#platform';
import { isOpen, type ToolCallStatus } from '#tools';

import type { CallingRun } from './calls/calling-run.js';
import { DeferredRoundCommit } from './calls/deferred-round-commit.js';
import type { JobCalls } from './calls/job-calls.js';
import { unlessCancelled } from './calls/job-calls.js';
import { type FinishedRound, type RoundFinished, roundWrite, startState } from './calls/round-write.js';
import type { HookedModel } from './hooks/hooked-model.js';
import type { LoopInput, LoopOutcome, LoopReply, LoopRound, LoopStep, OpenRound } from './loop/loop-step.js';
import { toolLoop } from './loop/tool-loop.js';
import type { AfterFailure, ConversationOutage } from './outages/conversation-outage.js';

/** How a run of a conversation ended. `released`: the process drains, and no round is open. */
export type SessionEnd =
  | LoopOutcome
  | { readonly type: 'released' }
  /** The model provider is down: the job waits for this interrupt. */
  | { readonly type: 'paused'; readonly interruptId: string }
  /** The job must not call its model and fails with this error. Error handling of workflow nodes does not apply. */
  | { readonly type: 'refused'; readonly error: AppError };

/** The newest round of a conversation: its text, and how its calls ended, by ordinal. */
export interface LastRound {
  readonly text: string;
  readonly captured: string | null;
  readonly ends: Map<number, { readonly status: ToolCallStatus; readonly text: string }>;
}

/** Decides before a round and after a failed model request whether the conversation continues, waits for the provider or stops. */
export type OutagePolicy = Pick<ConversationOutage, 'before' | 'after'>;

/**
 * Runs the loop and consumes its steps: streams text, commits each round before its first tool starts, and runs the calls. The caller
 * decides what the end means for the job.
 */
export class LoopSession {
  /** The newest committed round; null if there is none. */
  last: LastRound | null = null;
  private deferredRound: DeferredRoundCommit | undefined;
  private stream: ModelStream | undefined;
  private roundStartedAt = Date.now();
  private modelName = '';
  private hooked: HookedModel | null = null;
  /** The tokens of the unfinished round, which `keepOpenRound` stores. They count already. */
  private openUsage: ModelUsage | null = null;

  constructor(
    private readonly run: CallingRun,
    private readonly calls: JobCalls,
    private readonly outages: OutagePolicy,
    /** The ids of calls of the job. Ids of new calls are added. */
    private readonly callIds: Set<string> = new Set(),
  ) {}

  async drive(input: LoopInput): Promise<SessionEnd> {
    this.modelName = input.modelName;
    this.last = toLastRound(input.rounds);
    this.hooked = this.calls.hooks.modelOf(input);
    const model = this.hooked ?? input.model;
    try {
      const end = await this.steps(toolLoop({ ...input, model, onModelData: () => this.stream?.heard() }));
      if (end.type === 'stopped' && !this.run.signal.aborted) this.keepHookEvents();
      return end;
    } finally {
      this.stream?.close();
      this.countOpenUsage();
    }
  }

  /** The provider bills the responses that hooks have rejected, so the job counts their tokens however its conversation ends. */
  private countOpenUsage(): void {
    this.openUsage = this.hooked?.takeUsage() ?? null;
    if (this.openUsage === null) return;
    const { promptTokens, completionTokens } = this.openUsage;
    this.run.append({ counts: { promptTokens, completionTokens } });
  }

  private async steps(loop: ReturnType<typeof toolLoop>): Promise<SessionEnd> {
    let reply: LoopReply;
    for (;;) {
      const { done, value: step } = await loop.next(reply);
      if (done === true) return step;
      reply = undefined;
      if (this.run.draining && step.type === 'round-started') {
        await leave(loop);
        return { type: 'released' };
      }
      this.noteProgress(step);
      const next = await this.beforeModelCall(step);
      if (next === null) {
        reply = await this.take(step);
        if (step.type === 'round-started') this.stream?.asked();
      } else if (next.type === 'ask') {
        reply = next;
        this.stream?.asked();
      } else {
        await leave(loop);
        return next;
      }
    }
  }

  /** If a round failed or a hook denied it: appends the events of the changes that hooks made before. They are committed with the error. */
  private keepHookEvents(): void {
    const events = this.hooked?.takeEvents() ?? [];
    if (events.length > 0) this.run.append({ events });
  }

  /** Between `round-started` and `round-finished` the run waits for the model. */
  private noteProgress({ type }: LoopStep): void {
    if (type === 'round-started') this.stream = this.run.activity.openStream();
    else if (type === 'round-finished') this.stream?.close();
    else if (type === 'provider-down') this.run.append({ counts: { outageMs: this.stream?.failed() ?? 0 } });
    else if (type !== 'run-calls') this.stream?.heard();
  }

  /** Stores the shown text and the tokens of an unfinished round, if the conversation ends. Do not call it if another worker continues. */
  keepOpenRound(open: OpenRound | null): void {
    const usage = this.openUsage;
    if (open === null || (isSilent(open) && usage === null)) return;
    const { round, text, reasoning } = open;
    const row = roundRow(this.run.job, {
      number: round,
      model: this.modelName,
      text,
      reasoning,
      finishReason: 'interrupted',
      partial: true,
      promptTokens: usage?.promptTokens ?? 0,
      completionTokens: usage?.completionTokens ?? 0,
      usageEstimated: usage?.estimated ?? true,
      startedAt: this.roundStartedAt,
      ...placeOf(this.run),
    });
    this.run.append({ rows: [row], counts: { contentLength: this.run.closeRound(round) } });
  }

  /** Withdraws the shown text of an unfinished round; the job continues. */
  withdraw(open: OpenRound | null, reason: string): void {
    if (open !== null && !isSilent(open)) this.run.restartRound(open.round, reason);
  }

  /** Checks before a round, and after a failed model request, whether the loop may continue. Returns null to take the step. */
  private async beforeModelCall(step: LoopStep): Promise<SessionEnd | Extract<AfterFailure, { type: 'ask' }> | null> {
    if (step.type === 'round-started') return this.outages.before();
    if (step.type !== 'provider-down') return null;
    this.run.assertValid();
    const next = await this.outages.after(step);
    if (next.type !== 'failed') return next;
    const cause = next.error ?? step.failure;
    const open = { round: step.round, text: '', reasoning: '' };
    return { type: 'stopped', code: cause.code, message: cause.message, cause, open };
  }

  private async take(step: LoopStep): Promise<LoopReply> {
    this.run.assertValid();
    switch (step.type) {
      case 'round-started':
        this.roundStartedAt = Date.now();
        this.hooked?.startRound(step.round);
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
      case 'provider-down':
        return undefined;
      case 'take-call-ids':
        return { unavailableIds: await this.calls.reserveIds(step.callIds) };
      case 'round-finished':
        crashpoint('after-response');
        return this.commitRound(step);
      case 'run-calls':
        return this.runCalls(step);
    }
  }

  /** One commit: the round, its calls, their start, and the requests that they open. */
  private async commitRound(planned: RoundFinished): Promise<LoopReply> {
    for (const { callId } of planned.calls) this.callIds.add(callId);
    const { step, routes, applied } = await this.calls.routeRound(planned, this.hooked?.withheld);
    const hookEvents = [...(this.hooked?.takeEvents() ?? []), ...applied];
    const contentLength = this.run.closeRound(step.round);
    const { modelName, roundStartedAt: startedAt } = this;
    const round: FinishedRound = { step, routes, modelName, startedAt, contentLength, hookEvents };
    const routeTypes = [...routes.values()].map(({ type }) => type);
    const starts = routeTypes.some((type) => !['open', 'refused', 'answered'].includes(type));
    let cancelled = false;
    if (!starts) {
      // No call starts, so the round need not be durable yet. The next commit, which ends the job or sets it to `waiting`, writes it.
      this.run.append(roundWrite(this.run, round, () => ({ status: 'running' })));
    } else if (this.mayDefer(step, routeTypes)) {
      this.deferredRound = new DeferredRoundCommit(this.run, round, systemClock);
    } else {
      cancelled = !(await this.commitAndStart(round));
    }
    this.calls.committed(step, { cancelled });
    crashpoint('after-round-commit');
    this.last = { text: step.text, captured: step.captured ?? null, ends: endsOf(step) };
    return step === planned ? undefined : { committed: step.calls };
  }

  /** Changes by hooks are committed with their results, so a round with such hooks is not deferred. */
  private mayDefer(step: RoundFinished, routeTypes: readonly string[]): boolean {
    if (!routeTypes.every((type) => type === 'run') || !isPure(step)) return false;
    return !step.calls.some(({ name }) => this.calls.hooks.has('afterToolCall', name));
  }

  /** Returns false if a cancel was requested first; the calls were then committed as cancelled. */
  private async commitAndStart(round: FinishedRound): Promise<boolean> {
    const write = roundWrite(this.run, round, startState);
    if (await unlessCancelled(this.run, () => this.run.commitUnlessCancelled(write))) return true;
    await this.run.commit(roundWrite(this.run, round, () => ({ status: 'cancelled' })));
    return false;
  }

  private async runCalls(step: Extract<LoopStep, { type: 'run-calls' }>): Promise<LoopReply> {
    const { deferredRound } = this;
    this.deferredRound = undefined;
    let results;
    try {
      results = await this.calls.settle(step, deferredRound);
    } finally {
      deferredRound?.close();
    }
    if (deferredRound?.hasLongResult === true) await this.run.commit();
    for (const { ordinal, status, text } of results) this.last?.ends.set(ordinal, { status, text });
    return { results };
  }
}

async function leave(loop: ReturnType<typeof toolLoop>): Promise<void> {
  await loop.return({ type: 'stopped', code: 'aborted', message: '', cause: undefined, open: null });
}

function toLastRound(rounds: readonly LoopRound[]): LastRound | null {
  const last = rounds.at(-1);
  if (last === undefined) return null;
  const settled = last.calls.filter(({ status }) => !isOpen(status));
  return {
    text: last.text,
    captured: last.captured ?? null,
    ends: new Map(settled.map(({ ordinal, status, text }) => [ordinal, { status, text }])),
  };
}

function endsOf({ calls }: RoundFinished): LastRound['ends'] {
  return new Map(
    calls.flatMap(({ ordinal, disposition }) =>
      disposition.type === 'settled'
        ? [[ordinal, { status: disposition.status, text: disposition.failure.message }]]
        : [],
    ),
  );
}

/** The node of the conversation, for its rows. */
function placeOf({ node }: Pick<CallingRun, 'node'>) {
  return node === undefined ? {} : { nodeRun: node.nodeRun, branch: node.branch };
}

function isSilent({ text, reasoning }: OpenRound): boolean {
  return text === '' && reasoning === '';
}

function isPure({ calls }: RoundFinished): boolean {
  return calls.every(({ effect, disposition }) => disposition.type === 'settled' || effect === 'pure');
}
