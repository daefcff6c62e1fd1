import {
  isProviderDown,
  MAX_ARGUMENT_BYTES,
  ModelError,
  type ModelRequest,
  type ModelUsage,
  type RequestedCall,
} from '#models';
import { defined, toStorableText } from '#platform';
import { isOpen, isUsableCallId, planCalls, type PlannedCall } from '#tools';

import { toCollectedCall } from './collected-call.js';
import { endedEarly, outputLimit, stoppedBy } from './loop.errors.js';
import type { LoopCall, LoopInput, LoopOutcome, LoopReply, LoopRound, LoopStep } from './loop-step.js';
import { nextRequest, type RoundRequest, RoundResponse } from './round.js';
import { answered, firstOf, roundLimit } from './stop-conditions.js';

type Steps<Result> = AsyncGenerator<LoopStep, Result, LoopReply>;
type Stopped = Extract<LoopOutcome, { type: 'stopped' }>;

/**
 * The tool loop: calls the model, yields its tool calls, and sends it the results, until a response has no tool calls or a limit is reached.
 * Pure: it awaits only the model and the consumer, reads no clock and stores nothing. The consumer stores `round-finished` with its calls before
 * it requests the next step, so no tool starts before its round is committed. A resumed conversation passes its committed rounds: the loop
 * yields open calls of the last round again, and never settled ones. `return()` closes the connection to the model. Throws only errors that are
 * not failures of the model.
 */
export async function* toolLoop(input: LoopInput): Steps<LoopOutcome> {
  const rounds = [...input.rounds];
  const ended = firstOf(answered, roundLimit(input.limits.maxRounds));
  for (;;) {
    const last = rounds.pop();
    if (last !== undefined) {
      const settled = yield* settleCalls(last);
      rounds.push(settled);
      const outcome = waits(settled, input.signal) ?? ended(rounds);
      if (outcome !== null) return outcome;
    }
    const next = yield* askRound(input, rounds);
    if ('type' in next) return next;
    rounds.push(next);
  }
}

/** Yields the open calls of a committed round and receives their results. */
function* settleCalls(last: LoopRound): Generator<LoopStep, LoopRound, LoopReply> {
  const open = last.calls.filter((call) => isOpen(call.status));
  if (open.length === 0) return last;
  const reply = yield { type: 'run-calls', round: last.round, calls: open };
  const given = reply !== undefined && 'results' in reply ? reply.results : [];
  const results = new Map(given.map((result) => [result.ordinal, result]));
  // A call that was settled before keeps its result, even if the reply contains another.
  const calls = last.calls.map((call) => (isOpen(call.status) ? { ...call, ...results.get(call.ordinal) } : call));
  return { ...last, calls };
}

function waits(round: LoopRound, signal: AbortSignal): LoopOutcome | null {
  const open = round.calls.filter((call) => isOpen(call.status));
  if (open.length === 0) return null;
  return signal.aborted ? stoppedBy(null, signal, null) : { type: 'waiting', round: round.round, calls: open };
}

/** Streams one round; restarts it until it is complete or the restart limit is reached. */
async function* askRound(input: LoopInput, rounds: readonly LoopRound[]): Steps<LoopRound | Stopped> {
  const { limits, signal } = input;
  if (signal.aborted) return stoppedBy(null, signal, null);
  const asked = nextRequest(input, rounds);
  const { round } = asked;
  yield { type: 'round-started', round, toolsOffered: asked.offered.length };
  let evenIfPaused = false;
  for (let restarts = 0; ;) {
    const answer = new RoundResponse(limits.maxOutputBytes - bytesOf(rounds));
    const request: ModelRequest = evenIfPaused ? { ...asked.request, evenIfPaused } : asked.request;
    const failure: unknown = yield* streamRound(input, { ...asked, request }, answer);
    if (failure === null) return yield* finishRound(input, rounds, { asked, answer });
    if (isProviderDown(failure)) {
      const reply: LoopReply = yield { type: 'provider-down', round, committed: rounds.length, failure };
      evenIfPaused = reply !== undefined && 'ask' in reply && reply.ask === 'probe';
      if (reply !== undefined && 'ask' in reply) continue;
    }
    const mayRestart = failure instanceof ModelError && failure.mayRestart && !signal.aborted;
    if (!mayRestart || restarts >= limits.maxRestartsPerRound) {
      return stoppedBy(failure, signal, { round, text: answer.text, reasoning: answer.reasoning });
    }
    yield { type: 'round-restarted', round, reason: failure.code };
    restarts++;
  }
}

/** Streams one response; returns the failure, or null if it is complete. */
async function* streamRound(input: LoopInput, asked: RoundRequest, answer: RoundResponse): Steps<unknown> {
  const { round } = asked;
  try {
    for await (const batch of input.model.stream(asked.request, input.signal)) {
      const { reasoning, text } = answer.take(batch);
      if (reasoning !== '') yield { type: 'reasoning', round, text: reasoning };
      if (text !== '') yield { type: 'text', round, text };
      if (answer.isFull) return outputLimit(input.limits.maxOutputBytes);
    }
  } catch (error) {
    return error ?? endedEarly();
  }
  return answer.finish === null ? endedEarly() : null;
}

function* finishRound(
  input: LoopInput,
  rounds: readonly LoopRound[],
  { asked, answer }: { readonly asked: RoundRequest; readonly answer: RoundResponse },
): Generator<LoopStep, LoopRound, LoopReply> {
  const { round, offered } = asked;
  const { text, reasoning } = answer;
  const { finishReason, usage } = answer.finish ?? NO_FINISH;
  const captured = input.collectsCalls === true ? collected(input, asked, answer) : capturedBy(input, answer.calls);
  if (captured !== null || input.collectsCalls === true) {
    const ended = { round, text, reasoning, finishReason, calls: [], ...(captured === null ? {} : { captured }) };
    yield { type: 'round-finished', usage, ...ended };
    return ended;
  }
  const unavailableIds = yield* takeCallIds(input, asked, answer.calls);
  const calls = planCalls(answer.calls, {
    round,
    offered,
    earlier: rounds.flatMap((earlier) => earlier.calls),
    usedCallIds: usedCallIds(input, rounds, unavailableIds),
    maxCalls: input.limits.maxToolCallsPerRound,
    ...defined({ newCallId: input.newCallId, unknownTool: input.unknownTool }),
  });
  const reply = yield { type: 'round-finished', round, text, reasoning, finishReason, usage, calls };
  const committed = reply !== undefined && 'committed' in reply ? reply.committed : calls;
  return { round, text, reasoning, finishReason, calls: committed.map(toLoopCall) };
}

const NO_IDS: ReadonlySet<string> = new Set();

/** Reserves the provider's ids of calls for clients. Returns those that another call already has. */
function* takeCallIds(
  { newCallId }: LoopInput,
  { round, offered }: RoundRequest,
  calls: readonly RequestedCall[],
): Generator<LoopStep, ReadonlySet<string>, LoopReply> {
  const names = new Set(offered.filter(({ handling }) => handling === 'client').map(({ name }) => name));
  const callIds = calls.flatMap(({ name, callId }) => (names.has(name) && isUsableCallId(callId) ? [callId] : []));
  if (newCallId === undefined || callIds.length === 0) return NO_IDS;
  const reply = yield { type: 'take-call-ids', round, callIds };
  return reply !== undefined && 'unavailableIds' in reply ? reply.unavailableIds : NO_IDS;
}

/** The capture call ends the conversation, so other calls of the same response are not run. Arguments that are too long become an empty text. */
function capturedBy({ capture }: LoopInput, calls: readonly RequestedCall[]): string | null {
  const call = calls.find(({ name }) => name === capture?.function.name);
  if (call === undefined) return null;
  return Buffer.byteLength(call.arguments) > MAX_ARGUMENT_BYTES ? '' : toStorableText(call.arguments);
}

/**
 * All calls as JSON (`CollectedCall`), each with an id that is new in the conversation. Null if there are no calls, or no tool was offered.
 */
function collected(input: LoopInput, { round, offered }: RoundRequest, { calls }: RoundResponse): string | null {
  if (calls.length === 0 || offered.length === 0) return null;
  const maxCalls = input.limits.maxToolCallsPerRound;
  // An id becomes part of a path. An id with other characters is replaced by one of ours.
  const named = calls.map((call) => (/^[\w-]{1,128}$/.test(call.callId) ? call : { ...call, callId: '' }));
  const planned = planCalls(named, {
    ...{ round, offered, earlier: [], usedCallIds: usedCallIds(input, [], NO_IDS), maxCalls },
    ...defined({ newCallId: input.newCallId }),
  });
  return JSON.stringify(planned.map((call) => toCollectedCall(call, maxCalls)));
}

const NO_USAGE: ModelUsage = { promptTokens: 0, completionTokens: 0, totalTokens: 0, estimated: true };
const NO_FINISH = { finishReason: 'other', usage: NO_USAGE } as const;

function toLoopCall({ disposition, ...call }: PlannedCall): LoopCall {
  if (disposition.type !== 'settled') return { ...call, status: 'pending', text: '' };
  return { ...call, status: disposition.status, text: disposition.failure.message };
}

/** The ids of the other conversations are not copied: a job may have thousands. */
function usedCallIds(
  { messages, usedCallIds: others = NO_IDS }: LoopInput,
  rounds: readonly LoopRound[],
  unavailableIds: ReadonlySet<string>,
): Pick<ReadonlySet<string>, 'has'> {
  const given = messages.flatMap((message) => (message.role === 'assistant' ? (message.tool_calls ?? []) : []));
  const own = new Set([
    ...unavailableIds,
    ...given.map((call) => call.id),
    ...rounds.flatMap((round) => round.calls.map((call) => call.callId)),
  ]);
  return { has: (id) => own.has(id) || others.has(id) };
}

function bytesOf(rounds: readonly LoopRound[]): number {
  return rounds.reduce((sum, { text, reasoning }) => sum + Buffer.byteLength(text) + Buffer.byteLength(reasoning), 0);
}
