import { Injectable } from '@nestjs/common';

import { CancelRequested, Draining, JobCancelled, type PartRow } from '#jobs';
import { Config, crashpoint, Redactor, systemClock } from '#platform';
import {
  type AppliedHook,
  executeToolCall,
  hookApplied,
  idempotencyKey,
  keepOutputRow,
  notRegistered,
  type OutputOf,
  parseArguments,
  settleCallRow,
  startCallRow,
  ToolCallTelemetry,
  ToolCatalog,
  toolChanged,
  type ToolOutcome,
  type ToolProgress,
  toToolCallItem,
} from '#tools';

import type { StepHooks } from '../hooks/conversation-hooks.js';
import type { CallResult, LoopCall } from '../loop/loop-step.js';
import { runCalls, type StartVerdict } from '../loop/run-calls.js';
import { CallProgress } from './call-progress.js';
import type { CallingRun } from './calling-run.js';
import type { DeferredRoundCommit } from './deferred-round-commit.js';
import { requesterOf } from './requester-of.js';
import { startsAlone } from './round-write.js';

/** A call that may run now. `toRun`: the arguments for the tool; a person may have edited them. */
export interface RunnableCall extends LoopCall {
  readonly toRun: string;
  /** Fingerprint of the tool that may run. */
  readonly toolVersion: string;
  /** The number of this start of the call, from 1. */
  readonly attempt: number;
}

/** The state of the round whose calls run here. */
interface RoundState {
  readonly round: number;
  /** Whether this run has committed the round. That commit starts all calls that may be repeated (`pure`, `idempotent`). */
  readonly isStarted: boolean;
  /** Buffers the outcomes of a round that is not written yet. */
  readonly deferredRound: DeferredRoundCommit | undefined;
  readonly hooks: StepHooks;
}

/** The outcome of a call, and the changes that hooks made to it. */
type Ended = ToolOutcome & { readonly applied?: readonly AppliedHook[] };

interface EndedCall {
  readonly round: number;
  readonly call: RunnableCall;
  readonly outcome: Ended;
  readonly isDeferred: boolean;
}

/** Runs the calls of a committed round on this worker. Each call is started, executed and settled; the start and the end are stored. */
@Injectable()
export class ToolRunner {
  constructor(
    private readonly catalog: ToolCatalog,
    private readonly telemetry: ToolCallTelemetry,
    private readonly redactor: Redactor,
    private readonly config: Config,
  ) {}

  /** Returns the results in the order of the calls, without calls that could not be started. */
  async runCalls(run: CallingRun, calls: readonly RunnableCall[], state: RoundState): Promise<readonly CallResult[]> {
    const { round, deferredRound } = state;
    // All calls count as one unit of work, from the commit that starts a call to the commit that settles it. Otherwise a draining process
    // could conclude between them that the job only waits for a model.
    const work = runCalls(calls, {
      concurrency: this.config.values.MAX_TOOL_CALLS_PER_ROUND,
      start: async (call) => {
        const verdict = await this.start(run, call, state);
        // The process may have been paused while the commit was under way.
        run.assertValid();
        return verdict;
      },
      execute: async (call) => this.filtered(state.hooks, call, await this.execute(run, round, call)),
      settled: async (call, outcome) => {
        crashpoint('before-tool-commit');
        const isDeferred = (await deferredRound?.take(call.ordinal, outcome)) ?? false;
        await this.settle(run, { round, call, outcome, isDeferred });
      },
    });
    const outcomes = await run.activity.track(work);
    return calls.flatMap(({ ordinal }, i) => {
      const outcome = outcomes[i];
      return outcome === null || outcome === undefined
        ? []
        : [{ ordinal, status: outcome.status, text: outcome.modelText }];
    });
  }

  /** Commits the start of a call, unless the commit of the round has started it. */
  private async start(run: CallingRun, call: RunnableCall, { round, isStarted }: RoundState): Promise<StartVerdict> {
    if (isStarted && !startsAlone(call.effect)) return 'started';
    // This process drains, so another worker will start the call. It has not run yet.
    if (run.signal.reason instanceof Draining) return 'refused';
    const item = toToolCallItem({ ...call, approvedArguments: call.toRun, status: 'running' });
    const body = { round, internalStatus: 'running', call: item };
    try {
      await run.commitUnlessCancelled({
        rows: [startCallRow(run.job, { round, ordinal: call.ordinal })],
        events: isStarted ? [] : [{ type: 'tool-call-updated', body }],
      });
      return 'started';
    } catch (error) {
      if (!(error instanceof CancelRequested)) throw error;
      run.abort(new JobCancelled(error.why));
      return 'refused';
    }
  }

  private async filtered(hooks: StepHooks, call: RunnableCall, outcome: ToolOutcome): Promise<Ended> {
    if (!hooks.has('afterToolCall', call.name)) return outcome;
    const parsed = parseArguments(call.toRun);
    const ended = { callId: call.callId, tool: call.name, arguments: parsed.ok ? parsed.value : {} };
    const { outcome: filtered, applied } = await hooks.afterCall(ended, outcome);
    return { ...filtered, applied };
  }

  private async execute(run: CallingRun, round: number, call: RunnableCall): Promise<ToolOutcome> {
    const { job } = run;
    const tool = (await this.catalog.offeredTo(requesterOf(job))).find(call.name);
    // The tool existed when the call was routed and does not exist any more: the model reads the text for an unknown tool.
    if (tool === undefined) return unregistered(call.name);
    if (tool.version !== call.toolVersion) return changed(call.name);
    this.telemetry.toolStarted(tool);
    const redactor = this.redactor.of(job.workspaceId);
    const { callId } = call;
    const emit = (seqInCall: number, shown: ToolProgress) => {
      run.append({ events: [{ type: 'tool-progress', body: { callId, seqInCall, ...shown } }] });
    };
    const progress = new CallProgress(emit, { clock: systemClock, redactor });
    const ended = executeToolCall({
      tool,
      arguments: call.toRun,
      context: {
        workspaceId: job.workspaceId,
        jobId: job.jobId,
        threadId: job.threadId,
        principal: job.principal,
        callId,
        idempotencyKey: idempotencyKey(job.jobId, round, call.ordinal),
        epoch: job.epoch,
        attempt: call.attempt,
        signal: run.signal,
        now: () => Date.now(),
        progress: (shown) => {
          progress.report(shown);
        },
      },
      defaultTimeoutMs: this.config.values.TOOL_TIMEOUT_MS,
      clock: systemClock,
      redactor,
    });
    crashpoint('tool-in-flight');
    const outcome = await ended;
    progress.close();
    this.telemetry.toolEnded(tool, { ...job, callId: call.callId }, outcome);
    return outcome;
  }

  private async settle(run: CallingRun, { round, call, outcome, isDeferred }: EndedCall): Promise<void> {
    // Another worker continues the job: the call stays `running`, and that worker starts it again if its effect allows that.
    if (run.signal.reason instanceof Draining && outcome.status === 'cancelled') return;
    if (isDeferred) return;
    const place = { round, ordinal: call.ordinal };
    const shown = outcome.status === 'completed' ? { result: outcome.result } : { error: outcome.failure };
    const item = toToolCallItem({ ...call, approvedArguments: call.toRun, status: outcome.status, ...shown });
    run.append({
      rows: [settleCallRow(run.job, place, outcome), ...outputRows(run, place, outcome)],
      events: [
        ...hookApplied(outcome.applied ?? [], { round, callId: call.callId }),
        { type: 'tool-call-updated', body: { round, internalStatus: outcome.status, call: item } },
      ],
    });
    // A pure call can be repeated, so its result is written with the next commit. If the model may read the result in pages, it is written at
    // once.
    const tool = (await this.catalog.of(run.job.workspaceId)).find(call.name);
    const isPaged = outcome.status === 'completed' && outcome.whole !== undefined;
    if (tool?.effect !== 'pure' || isPaged) await run.commit();
  }
}

/** A result that is too large for the row is stored whole in its own table. */
function outputRows({ job }: CallingRun, place: OutputOf, outcome: ToolOutcome): readonly PartRow[] {
  return outcome.status === 'completed' && outcome.whole !== undefined
    ? [keepOutputRow(job, place, outcome.whole)]
    : [];
}

function changed(name: string): ToolOutcome {
  const message = toolChanged(name);
  return { status: 'denied', failure: { phase: 'approval', message }, modelText: message, durationMs: 0 };
}

function unregistered(name: string): ToolOutcome {
  const message = notRegistered(name);
  const failure = { phase: 'execution', message, code: 'tool_unavailable' } as const;
  return { status: 'error', failure, modelText: message, durationMs: 0 };
}
