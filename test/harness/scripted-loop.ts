import assert from 'node:assert/strict';

import { ModelError, type ModelPart, type ModelRequest } from '#models';
import type { OfferedTool, PlannedCall } from '#tools';

import type { CallResult, LoopInput, LoopOutcome, LoopRound, LoopStep } from '../../libs/chat/src/loop/loop-step.js';
import { toolLoop } from '../../libs/chat/src/loop/tool-loop.js';
import { conversationProblems } from './conversation-problems.js';

/** The batches of one answer of the model; an Error breaks it off. */
export type Script = Iterable<readonly ModelPart[] | Error>;

export const USAGE = { promptTokens: 1, completionTokens: 2, totalTokens: 3, estimated: false };
export const text = (value: string): ModelPart => ({ type: 'text', text: value });
export const finish = (finishReason: 'stop' | 'length' | 'tool_calls' = 'stop'): ModelPart => ({
  type: 'finish',
  finishReason,
  usage: USAGE,
});
export const calls = (
  ...asked: readonly (readonly [name: string, args?: string, id?: string])[]
): readonly ModelPart[] => [
  {
    type: 'tool-calls',
    calls: asked.map(([name, args, id], n) => ({ name, arguments: args ?? '{}', callId: id ?? `id${n}` })),
  },
  finish('tool_calls'),
];
export const broken = (afterFirstByte = true, retryable = true): Error =>
  new ModelError({ code: 'model_stream_broken', message: 'It broke.', afterFirstByte, retryable });
export const offer = (name: string): OfferedTool => ({
  name,
  definition: { type: 'function', function: { name } },
  handling: name === 'theirs' ? 'clientless' : 'server',
  effect: 'pure',
  repeatable: false,
  sort: 'server',
  version: 'v1',
});
export const settled = (round: number, text_: string, args = '{}'): LoopRound => ({
  round,
  text: '',
  reasoning: '',
  finishReason: 'tool_calls',
  calls: [{ ordinal: 1, callId: `r${round}`, name: 'x', arguments: args, status: 'completed', text: text_ }],
});

export interface Played {
  readonly steps: readonly LoopStep[];
  readonly outcome: LoopOutcome;
  readonly requests: readonly ModelRequest[];
}

/** Runs the loop against scripted answers; calls complete with "done <ordinal>" unless `settle` decides otherwise. */
export async function play(
  script: readonly Script[],
  input: Partial<LoopInput> = {},
  settle: (step: Extract<LoopStep, { type: 'run-calls' }>) => readonly CallResult[] = (step) =>
    step.calls.map(({ ordinal }) => ({ ordinal, status: 'completed', text: `done ${ordinal}` })),
): Promise<Played> {
  const requests: ModelRequest[] = [];
  const steps: LoopStep[] = [];
  async function* stream(request: ModelRequest): AsyncGenerator<readonly ModelPart[]> {
    assert.deepEqual(conversationProblems(request.messages), []);
    const answer = script[requests.length];
    requests.push(request);
    if (answer === undefined) throw new Error('The script has no answer left');
    for (const batch of answer) {
      if (batch instanceof Error) throw batch;
      yield await Promise.resolve(batch);
    }
  }
  const loop = toolLoop({
    model: { stream },
    modelName: 'm',
    messages: [{ role: 'user', content: 'hi' }],
    rounds: [],
    offered: ['x', 'y', 'theirs'].map(offer),
    limits: { maxRounds: 10, maxToolCallsPerRound: 20, maxOutputBytes: 1_000, maxRestartsPerRound: 2 },
    signal: new AbortController().signal,
    ...input,
  });
  let step = await loop.next();
  while (!step.done) {
    steps.push(step.value);
    step = await loop.next(step.value.type === 'run-calls' ? { results: settle(step.value) } : undefined);
  }
  assert.equal(requests.length, script.length);
  return { steps, outcome: step.value, requests };
}

export const kinds = (steps: readonly LoopStep[]): readonly string[] => steps.map((step) => step.type);
export const planned = (steps: readonly LoopStep[]): readonly PlannedCall[] =>
  steps.flatMap((step) => (step.type === 'round-finished' ? step.calls : []));
