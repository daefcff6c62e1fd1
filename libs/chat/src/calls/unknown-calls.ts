import { Injectable } from '@nestjs/common';

import { unknownOutcomeRequest } from '#approvals';
import { interruptOpened, openInterruptRow } from '#jobs';
import { Config, Redactor, unlessAborted } from '#platform';
import {
  type FilteredEnd,
  hookApplied,
  idempotencyKey,
  keepOutputRow,
  type LedgerCall,
  projectResult,
  ResultHooks,
  type Settlement,
  type Tool,
  ToolCatalog,
  toToolCallItem,
  type Verification,
  verifyCallRow,
} from '#tools';

import { atNode, type CallingRun } from './calling-run.js';

/** Decides calls with an unknown outcome when their job continues: each follows the policy of its tool. */
@Injectable()
export class UnknownCalls {
  constructor(
    private readonly catalog: ToolCatalog,
    private readonly redactor: Redactor,
    private readonly config: Config,
    private readonly hooks: ResultHooks,
  ) {}

  /**
   * Decides every interrupted and undecided call of the last round: asks its tool, or opens a request to a person. The run's next commit
   * writes the result. Returns the calls in their new state. If the policy of a call's tool fails the job, the call has `failJob`.
   */
  async decide(run: CallingRun, calls: readonly LedgerCall[]): Promise<readonly LedgerCall[]> {
    if (run.signal.aborted) return calls;
    const last = calls.reduce((round, call) => Math.max(round, call.round), 0);
    const inOrder = calls.toSorted((a, b) => a.round - b.round || a.ordinal - b.ordinal);
    const decisions = await Promise.all(
      inOrder.map((call) => (isUndecided(call, last) ? this.decideOne(run, call) : Promise.resolve(() => call))),
    );
    // The requests are opened in the order of the calls, whichever tool replied first.
    return decisions.map((decide) => decide());
  }

  /** Decides how a call ends, and returns the function that writes it. */
  private async decideOne(run: CallingRun, call: LedgerCall): Promise<() => LedgerCall> {
    const tool = (await this.catalog.of(run.job.workspaceId)).find(call.name);
    switch (tool?.onUnknown ?? 'ask') {
      case 'report':
        return () => call;
      case 'fail':
        return () => ({
          ...call,
          error: { phase: 'execution', message: call.error?.message ?? '', failJob: 'unknown_outcome' },
        });
      case 'verify': {
        const verification = await this.verify(run, tool, call);
        if (verification.outcome === 'unknown')
          return () => this.ask(run, { call, tool, note: verification.note ?? null });
        const end = await this.filtered(run, call, this.toSettlement(run, verification, call));
        return () => this.settle(run, call, end);
      }
      case 'ask':
        return () => this.ask(run, { call, tool, note: null });
    }
  }

  private async verify(run: CallingRun, tool: Tool | undefined, call: LedgerCall): Promise<Verification> {
    const { job } = run;
    if (tool?.verify === undefined || tool.verify === null) return { outcome: 'unknown' };
    const key = idempotencyKey(job.jobId, call.round, call.ordinal);
    const signal = AbortSignal.any([run.signal, AbortSignal.timeout(this.config.values.TOOL_TIMEOUT_MS)]);
    run.assertValid();
    const { workspaceId, jobId, threadId, principal, epoch } = job;
    const context = { workspaceId, jobId, threadId, principal, epoch, signal, callId: call.callId };
    const { verify } = tool;
    const asked = { ...context, idempotencyKey: key, now: () => Date.now(), progress: () => undefined };
    try {
      return await unlessAborted(signal, () => verify(key, asked));
    } catch {
      return {
        outcome: 'unknown',
        note: signal.aborted ? 'The tool did not respond in time.' : 'The tool could not determine the outcome.',
      };
    }
  }

  private toSettlement(
    { job }: CallingRun,
    verification: Exclude<Verification, { outcome: 'unknown' }>,
    call: LedgerCall,
  ): Settlement {
    if (verification.outcome === 'did_not_happen') {
      const message = `Error executing tool "${call.name}": it was started and did not happen`;
      return { status: 'error', failure: { phase: 'execution', message } };
    }
    const { result } = verification;
    const text = typeof result === 'string' ? result : (JSON.stringify(result) as string | undefined);
    const shown = this.redactor.of(job.workspaceId).redact(text ?? '');
    return { status: 'completed', result: projectResult(shown, 'durable') };
  }

  /** The outcome that the tool reports, after the hooks of its result. */
  private filtered({ job }: CallingRun, { state }: LedgerCall, end: Settlement): Promise<FilteredEnd> {
    const { workspaceId, jobId } = job;
    if (state === undefined || state === null) throw new Error('an interrupted call has no state');
    return this.hooks.filter({ workspaceId, jobId, id: state.id }, end);
  }

  private settle(run: CallingRun, call: LedgerCall, settlement: FilteredEnd): LedgerCall {
    const isDone = settlement.status === 'completed';
    const result = isDone ? settlement.result : null;
    const error = isDone ? null : settlement.failure;
    const settled: LedgerCall = { ...call, status: settlement.status, result, error };
    const { round, callId } = call;
    const body = { round, internalStatus: settled.status, call: toToolCallItem(settled) };
    const whole = settlement.status === 'completed' ? settlement.whole : undefined;
    run.append({
      rows: [
        verifyCallRow(run.job, call, settlement),
        ...(whole === undefined ? [] : [keepOutputRow(run.job, call, whole)]),
      ],
      events: [...hookApplied(settlement.applied ?? [], { round, callId }), { type: 'tool-call-updated', body }],
    });
    return settled;
  }

  private ask(run: CallingRun, about: { call: LedgerCall; tool: Tool | undefined; note: string | null }): LedgerCall {
    const { call, tool, note } = about;
    const { state } = call;
    if (state === undefined || state === null) return call;
    const asked = unknownOutcomeRequest(
      run.job,
      {
        toolCallId: state.id,
        callId: call.callId,
        name: call.name,
        arguments: state.approvedArguments ?? call.arguments,
        sensitiveFields: tool?.sensitiveFields ?? [],
        startedAt: state.startedAt,
      },
      { worker: state.worker ?? run.job.previousOwner, verification: note },
    );
    const interrupt = atNode(asked, run.node);
    run.append({ rows: [openInterruptRow(run.job, interrupt)], events: [interruptOpened(interrupt)] });
    return { ...call, state: { ...state, interruptId: interrupt.id } };
  }
}

function isUndecided({ status, round, state }: LedgerCall, lastRound: number): boolean {
  if (status !== 'interrupted' || round !== lastRound || state === undefined || state === null) return false;
  return state.interruptId === null && !state.isReported;
}
