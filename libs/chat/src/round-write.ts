import { type NewJobEvent, roundRow, type RunWrite } from '#jobs';
import { newCallRow, type PlannedCall, type ToolOutcome, toToolCallItem } from '#tools';

import type { LoopStep } from './loop/loop-step.js';

export type RoundFinished = Extract<LoopStep, { type: 'round-finished' }>;

/** A round as it is to be committed. */
export interface FinishedRound {
  readonly step: RoundFinished;
  readonly modelName: string;
  /** Ms since the epoch. */
  readonly startedAt: number;
  /** UTF-16 units of text the job's content grew by. */
  readonly contentLength: number;
}

/** Where a call that may run stands when its round is committed: not begun, begun by this commit, refused, or ended. */
export type CallState = { readonly status: 'pending' | 'running' | 'cancelled' } | ToolOutcome;

interface JobRef {
  readonly workspaceId: string;
  readonly jobId: string;
}

/** One write for a round, its calls and its events. `stateOf` is asked about the calls that may run. Pure. */
export function roundWrite(job: JobRef, round: FinishedRound, stateOf: (call: PlannedCall) => CallState): RunWrite {
  const { step, contentLength } = round;
  const { promptTokens, completionTokens, totalTokens } = step.usage;
  const calls = step.calls.map((call) => ({ ...call, ...stored(call, stateOf) }));
  const finished: NewJobEvent = {
    type: 'round-finished',
    body: {
      round: step.round,
      finishReason: step.finishReason,
      usage: { promptTokens, completionTokens, totalTokens },
      toolCallIds: calls.map(({ callId }) => callId),
    },
  };
  const callEvents = calls.map((call): NewJobEvent => {
    const body = { round: step.round, internalStatus: call.status, call: toToolCallItem(call) };
    return { type: 'tool-call', body };
  });
  return {
    events: [finished, ...callEvents],
    rows: [toRow(job, round), ...calls.map((call) => newCallRow(job, step.round, call))],
    counts: { rounds: 1, toolCalls: calls.length, promptTokens, completionTokens, contentLength },
    progress: true,
  };
}

function stored(call: PlannedCall, stateOf: (call: PlannedCall) => CallState) {
  const { disposition } = call;
  if (disposition.type === 'settled') {
    return { status: disposition.status, result: null, error: disposition.failure, ranMs: null };
  }
  const state = stateOf(call);
  if (!('durationMs' in state)) return { status: state.status, result: null, error: null, ranMs: null };
  return state.status === 'completed'
    ? { status: state.status, result: state.result, error: null, ranMs: state.durationMs }
    : { status: state.status, result: null, error: state.failure, ranMs: state.durationMs };
}

function toRow(job: JobRef, { step, modelName, startedAt }: FinishedRound) {
  return roundRow(job, {
    number: step.round,
    model: modelName,
    text: step.text,
    reasoning: step.reasoning,
    finishReason: step.finishReason,
    partial: false,
    promptTokens: step.usage.promptTokens,
    completionTokens: step.usage.completionTokens,
    usageEstimated: step.usage.estimated,
    startedAt,
  });
}
