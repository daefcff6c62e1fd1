import { interruptOpened, type NewJobEvent, openInterruptRow, roundRow, type RunWrite } from '#jobs';
import { defined } from '#platform';
import {
  keepOutputRow,
  type NewCall,
  newCallRow,
  type PlannedCall,
  queueNewCallRow,
  type ToolOutcome,
  toToolCallItem,
} from '#tools';

import type { LoopStep } from '../loop/loop-step.js';
import type { CallRoute, CallRoutes } from './call-route.js';
import type { CallingRun } from './calling-run.js';

export type RoundFinished = Extract<LoopStep, { type: 'round-finished' }>;

/** A round to be committed. */
export interface FinishedRound {
  readonly step: RoundFinished;
  readonly routes: CallRoutes;
  readonly modelName: string;
  /** Ms since the epoch. */
  readonly startedAt: number;
  /** UTF-16 units of text that the round adds to the job's content. */
  readonly contentLength: number;
  /** Events of the changes that hooks made, written with the round. */
  readonly hookEvents: readonly NewJobEvent[];
}

/** State of a call of this worker when its round is committed: not started, started by this commit, cancelled, or ended. */
export type RunState = { readonly status: 'pending' | 'running' | 'cancelled' } | ToolOutcome;

/**
 * The state of a call at the commit of its round. A `once` call is started by a separate commit, right before it is sent: if the worker
 * crashes between the two commits, the call is known not to have been sent. Other calls may be sent again, so their start needs no separate
 * commit.
 */
export function startState({ effect }: Pick<PlannedCall, 'effect'>): RunState {
  return { status: startsAlone(effect) ? 'pending' : 'running' };
}

/** Whether the start of a call needs a separate commit. */
export function startsAlone(effect: PlannedCall['effect'] | undefined): boolean {
  return effect === 'once';
}

type RoundOwner = Pick<CallingRun, 'job' | 'node'>;

/**
 * One write for a round, its calls, the requests they open and the events. `stateOf` returns the state of a call that runs here; with
 * `cancelled`, no other call is started and no request is opened. Pure.
 */
export function roundWrite(
  owner: RoundOwner,
  round: FinishedRound,
  stateOf: (call: PlannedCall) => RunState,
): RunWrite {
  const { job } = owner;
  const { step, contentLength, routes, hookEvents } = round;
  const { promptTokens, completionTokens, totalTokens, estimated } = step.usage;
  const calls = step.calls.map((call): RoundCall => ({ ...call, ...stored(call, routes.get(call.ordinal), stateOf) }));
  const wasAsked = [...routes.values()].some(({ type }) => type === 'open');
  const isBegun = (call: NewCall): boolean => call.status.startsWith('awaiting');
  const opened = [...routes].flatMap(([ordinal, route]) =>
    route.type === 'open' && calls.some((call) => call.ordinal === ordinal && isBegun(call)) ? [route.interrupt] : [],
  );
  const finished: NewJobEvent = {
    type: 'round-finished',
    body: {
      round: step.round,
      finishReason: step.finishReason,
      usage: { promptTokens, completionTokens, totalTokens },
      ...(estimated ? { usageEstimated: true } : {}),
      toolCallIds: calls.map(({ callId }) => callId),
    },
  };
  const callEvents = calls.map((call): NewJobEvent => {
    // The call starts right after this commit, so no extra event is written for its start.
    const status = call.status === 'pending' ? 'running' : call.status;
    const body = { round: step.round, internalStatus: status, call: toToolCallItem({ ...call, status }) };
    return { type: 'tool-call', body };
  });
  return {
    events: [...hookEvents, finished, ...callEvents, ...opened.map(interruptOpened)],
    rows: [
      toRow(owner, round),
      ...calls.map((call) => newCallRow(job, step.round, wasAsked ? call : withoutPolicy(call))),
      ...opened.map((interrupt) => openInterruptRow(job, interrupt)),
      ...calls.flatMap((call) => (isKeptWhole(call) ? [keepOutputRow(job, call, call.whole)] : [])),
      ...calls.flatMap((call) => (isQueued(call) ? [queueNewCallRow(job, { ...call, round: step.round })] : [])),
    ],
    counts: { rounds: 1, toolCalls: calls.length, promptTokens, completionTokens, contentLength },
    progress: true,
  };
}

type RoundCall = NewCall & ExtraCallRows;

/** Rows that are stored in addition to the row of a call. */
interface ExtraCallRows {
  /** The whole result, if the row contains only a preview of it. */
  readonly whole?: string;
  /** How long the call may wait in the tool queue. Absent for other calls. */
  readonly ttlMs?: number;
}

function isKeptWhole(call: RoundCall): call is RoundCall & { readonly id: string; readonly whole: string } {
  return call.id !== undefined && call.whole !== undefined;
}

function isQueued(call: RoundCall): call is RoundCall & { readonly id: string; readonly ttlMs: number } {
  return call.executor === 'queue' && call.id !== undefined && call.ttlMs !== undefined;
}

/** "Allowed by policy" is stored only if a person decides about another call of the round. */
function withoutPolicy(call: NewCall): NewCall {
  return call.approval === 'policy' ? { ...call, approval: null } : call;
}

type Stored = Pick<NewCall, 'status' | 'result' | 'error' | 'ranMs'> & Partial<NewCall> & ExtraCallRows;

const begun = { result: null, error: null, ranMs: null } as const;

function stored(
  call: PlannedCall,
  route: (CallRoute & { readonly toolCallId: string }) | undefined,
  stateOf: (call: PlannedCall) => RunState,
): Stored {
  const { disposition } = call;
  if (disposition.type === 'settled') return { ...begun, status: disposition.status, error: disposition.failure };
  if (route === undefined) throw new Error(`call ${call.ordinal} has no route`);
  const id = route.toolCallId;
  if (route.type === 'refused')
    return { ...begun, id, status: route.status, error: route.failure, approval: route.approval };
  if (route.type === 'answered') return { id, ...endOf(route.outcome) };
  const state = stateOf(call);
  if (!('durationMs' in state) && state.status === 'cancelled') return { ...begun, id, status: 'cancelled' };
  if (route.type === 'open') return { ...begun, id, status: route.status, executor: route.executor };
  const allowed = { id, approval: route.approval, grantId: route.grantId };
  if (route.type === 'sub-job') return { ...begun, ...allowed, status: 'running', executor: 'job' };
  if (route.type === 'queue') {
    const { ttlMs, concurrency } = route;
    return { ...begun, ...allowed, status: 'running', executor: 'queue', ttlMs, concurrency };
  }
  return { ...allowed, ...endOf(state) };
}

function endOf(state: RunState): Stored {
  if (!('durationMs' in state)) return { ...begun, status: state.status };
  const { durationMs: ranMs } = state;
  if (state.status !== 'completed') return { ...begun, status: state.status, error: state.failure, ranMs };
  const { result, resultBytes, whole } = state;
  const kept = resultBytes === undefined || whole === undefined ? {} : { resultBytes, whole };
  return { status: 'completed', result, error: null, ranMs, ...kept };
}

function toRow({ job, node }: RoundOwner, { step, modelName, startedAt }: FinishedRound) {
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
    ...(node === undefined ? {} : { nodeRun: node.nodeRun, branch: node.branch }),
    ...defined({ captured: step.captured }),
  });
}
