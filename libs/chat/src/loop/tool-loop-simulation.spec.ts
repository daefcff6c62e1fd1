import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';

import { ModelError, type ModelPart, type ModelRequest } from '#models';
import { isOpen, type LedgerCall, modelTextOf, type OfferedTool, type PlannedCall, type ToolEffect } from '#tools';

import { conversationProblems } from '../../../../test/harness/conversation-problems.js';
import { buildHistory } from '../history/build-history.js';
import type { LoopLimits, LoopOutcome, LoopStep } from './loop-step.js';
import { runCalls } from './run-calls.js';
import { type CommittedRound, toLoopRounds } from './to-loop-rounds.js';
import { toolLoop } from './tool-loop.js';

/** The scripted response of the model: text pieces, calls, or a stream that breaks. */
interface Answer {
  readonly pieces: readonly string[];
  readonly calls: readonly { readonly callId: string; readonly name: string; readonly arguments: string }[];
  readonly breaks: boolean;
}

/** A scenario: the model's responses in order, how calls end, and after how many steps each run of the worker is killed. */
interface History {
  readonly answers: readonly Answer[];
  readonly outcomes: readonly ('completed' | 'error' | 'timed_out')[];
  readonly crashes: readonly number[];
}

const LIMITS: LoopLimits = { maxRounds: 4, maxToolCallsPerRound: 3, maxOutputBytes: 60, maxRestartsPerRound: 1 };
const OFFERED: readonly OfferedTool[] = (['pure', 'once', 'idempotent'] as const).map((effect) => ({
  name: effect,
  definition: { type: 'function', function: { name: effect } },
  handling: 'server',
  effect,
  repeatable: false,
  sort: 'server',
  version: 'v1',
}));

class Killed extends Error {}

/** The rows that survive a worker, and a worker that is killed between any two of its writes. */
class World {
  rounds: CommittedRound[] = [];
  calls: LedgerCall[] = [];
  readonly begun: string[] = [];
  readonly requests: ModelRequest[] = [];
  private stepsLeft = Number.POSITIVE_INFINITY;

  constructor(private readonly history: History) {}

  /** One run: from the claim to an outcome or a kill. */
  async live(stepsLeft: number): Promise<LoopOutcome> {
    this.stepsLeft = stepsLeft;
    this.takeOver();
    const loop = toolLoop({
      model: { stream: (request) => this.answer(request) },
      modelName: 'm',
      messages: [{ role: 'user', content: 'go' }],
      rounds: toLoopRounds(this.rounds, this.calls),
      offered: OFFERED,
      limits: LIMITS,
      signal: new AbortController().signal,
    });
    let step = await loop.next();
    while (!step.done) step = await loop.next(await this.consume(step.value));
    return step.value;
  }

  /** A call that an older epoch started and left with an unknown outcome is never called again. */
  private takeOver(): void {
    this.calls = this.calls.map((call) =>
      call.status === 'running' && call.effect === 'once' ? { ...call, status: 'interrupted' } : call,
    );
  }

  private async consume(step: LoopStep): Promise<Parameters<ReturnType<typeof toolLoop>['next']>[0]> {
    this.tick();
    if (step.type === 'round-finished') this.commit(step);
    if (step.type !== 'run-calls') return undefined;
    await runCalls(step.calls, {
      concurrency: 2,
      start: ({ ordinal }) =>
        this.write(() => {
          this.start(step.round, ordinal);
          return 'started' as const;
        }),
      execute: ({ ordinal }) =>
        this.write(() => this.history.outcomes[(step.round + ordinal) % this.history.outcomes.length] ?? 'completed'),
      settled: ({ ordinal }, status) =>
        this.write(() => {
          this.settle(step.round, ordinal, status);
        }),
    });
    const own = this.calls.filter((call) => call.round === step.round);
    return {
      results: own.flatMap((call) =>
        isOpen(call.status) ? [] : [{ ordinal: call.ordinal, status: call.status, text: modelTextOf(call) }],
      ),
    };
  }

  private async write<T>(run: () => T): Promise<T> {
    await Promise.resolve();
    this.tick();
    return run();
  }

  private tick(): void {
    if (this.stepsLeft-- <= 0) throw new Killed();
  }

  private commit({ round, text, reasoning, finishReason, calls }: Extract<LoopStep, { type: 'round-finished' }>): void {
    expect(this.rounds.map((committed) => committed.number)).not.toContain(round);
    this.rounds.push({ number: round, text, reasoning, finishReason });
    this.calls.push(...calls.map((call) => toLedger(round, call)));
  }

  private start(round: number, ordinal: number): void {
    const call = this.find(round, ordinal);
    expect(isOpen(call.status)).toBe(true);
    if (call.status === 'running') expect(call.effect).not.toBe('once');
    this.begun.push(`${round}:${ordinal}`);
    this.replace({ ...call, status: 'running' });
  }

  private settle(round: number, ordinal: number, status: 'completed' | 'error' | 'timed_out'): void {
    const call = this.find(round, ordinal);
    expect(call.status).toBe('running');
    const error = { phase: 'execution', message: `failed ${round}:${ordinal}` } as const;
    this.replace(status === 'completed' ? { ...call, status, result: 'ok' } : { ...call, status, error });
  }

  private find(round: number, ordinal: number): LedgerCall {
    const call = this.calls.find((row) => row.round === round && row.ordinal === ordinal);
    if (call === undefined) throw new Error(`no call ${round}:${ordinal} was committed`);
    return call;
  }

  private replace(call: LedgerCall): void {
    this.calls = this.calls.map((row) => (row.round === call.round && row.ordinal === call.ordinal ? call : row));
  }

  private async *answer(request: ModelRequest): AsyncGenerator<readonly ModelPart[]> {
    const answer = this.history.answers[this.requests.length % this.history.answers.length];
    this.requests.push(request);
    for (const text of answer?.pieces ?? []) yield await Promise.resolve([{ type: 'text', text }]);
    if (answer?.breaks === true) {
      throw new ModelError({ code: 'model_stream_broken', message: 'broken', retryable: true, afterFirstByte: true });
    }
    const calls = answer?.calls ?? [];
    const finishReason = calls.length > 0 ? 'tool_calls' : 'stop';
    const usage = { promptTokens: 0, completionTokens: 0, totalTokens: 0, estimated: true };
    yield [
      ...(calls.length > 0 ? [{ type: 'tool-calls', calls } as const] : []),
      { type: 'finish', finishReason, usage },
    ];
  }
}

function toLedger(round: number, { disposition, ...call }: PlannedCall): LedgerCall {
  if (disposition.type !== 'settled') return { ...call, round, status: 'pending', result: null, error: null };
  return { ...call, round, status: disposition.status, result: null, error: disposition.failure };
}

const call = fc.record({
  callId: fc.constantFrom('', 'a', 'b', 'call_2_1'),
  name: fc.constantFrom('pure', 'once', 'idempotent', 'nope', ''),
  arguments: fc.constantFrom('{}', '{"a":1}', '{"a":2}', '{"a":', 'x', '{"a":"b'),
});
const history: fc.Arbitrary<History> = fc.record({
  answers: fc.array(
    fc.record({
      pieces: fc.array(fc.constantFrom('a', 'bc', 'déf'), { maxLength: 3 }),
      calls: fc.array(call, { maxLength: 5 }),
      breaks: fc.boolean(),
    }),
    { minLength: 1, maxLength: 6 },
  ),
  outcomes: fc.array(fc.constantFrom('completed', 'error', 'timed_out'), { minLength: 1, maxLength: 5 }),
  crashes: fc.array(fc.nat(25), { maxLength: 6 }),
});

async function outlive(given: History): Promise<{ readonly world: World; readonly outcome: LoopOutcome }> {
  const world = new World(given);
  for (const steps of given.crashes) {
    try {
      return { world, outcome: await world.live(steps) };
    } catch (error) {
      if (!(error instanceof Killed)) throw error;
    }
  }
  return { world, outcome: await world.live(Number.POSITIVE_INFINITY) };
}

describe('toolLoop under random crashes', () => {
  it('keeps its guarantees in every scenario', async () => {
    await fc.assert(
      fc.asyncProperty(history, async (given) => {
        const { world, outcome } = await outlive(given);
        expect(['finished', 'stopped']).toContain(outcome.type);
        expect(world.rounds.map((round) => round.number)).toEqual(world.rounds.map((_, index) => index + 1));
        expect(world.rounds.length).toBeLessThanOrEqual(LIMITS.maxRounds);
        for (const request of world.requests) expect(conversationProblems(request.messages)).toEqual([]);
        expect(world.calls.filter((row) => isOpen(row.status))).toEqual([]);
        expectStarts(world);
        expect(Buffer.byteLength(world.rounds.map((round) => round.text).join(''))).toBeLessThanOrEqual(
          LIMITS.maxOutputBytes,
        );
        expect(new Set(world.calls.map((row) => row.callId)).size).toBe(world.calls.length);
        for (const round of world.rounds) {
          const begun = new Set(world.begun.filter((key) => key.startsWith(`${round.number}:`)));
          expect(begun.size).toBeLessThanOrEqual(LIMITS.maxToolCallsPerRound);
        }
      }),
      { numRuns: 1_000 },
    );
  });

  it('leaves rows that build a valid history at every stop', async () => {
    await fc.assert(
      fc.asyncProperty(history, fc.nat(30), async (given, steps) => {
        const world = new World(given);
        await world.live(steps).catch((error: unknown) => {
          if (!(error instanceof Killed)) throw error;
        });
        const rounds = world.rounds.map((round) => ({ ...round, partial: false }));
        const jobs = new Map([['j', { status: 'failed', rounds, calls: world.calls }]]);
        const rows = [
          { position: 1, role: 'user', content: 'go', jobId: null },
          { position: 2, role: 'assistant', content: null, jobId: 'j' },
          { position: 3, role: 'user', content: 'and now?', jobId: null },
        ];
        expect(conversationProblems(buildHistory(rows, jobs))).toEqual([]);
      }),
      { numRuns: 300 },
    );
  });
});

/** A `once` call starts at most once, every other at most once per run that did not settle it. */
function expectStarts(world: World): void {
  const effects = new Map(world.calls.map((row): [string, ToolEffect] => [`${row.round}:${row.ordinal}`, row.effect]));
  const twice = world.begun.filter((key, index) => world.begun.indexOf(key) !== index);
  expect(twice.filter((key) => effects.get(key) === 'once')).toEqual([]);
}
