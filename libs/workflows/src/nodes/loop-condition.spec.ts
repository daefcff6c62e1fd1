import { describe, expect, it } from '@jest/globals';

import { readNodeData } from '../definition/node-types.js';
import type { Conversing } from '../engine/node-executor.js';
import { LoopCondition, type LoopEvaluator, type LoopQuestion, type LoopState } from './loop-condition.js';

const first: LoopState = { iteration: 1, current: 'draft', outputs: [] };
const third: LoopState = { iteration: 3, current: 'better', outputs: ['good', 'better'] };

function question(data: object, state: LoopState, reply = ''): LoopQuestion & { readonly asked: Conversing[] } {
  const { value } = readNodeData('whileLoop', { label: 'Loop', ...data });
  if (value === null) throw new Error('unreadable');
  const asked: Conversing[] = [];
  return {
    node: { id: 'l', type: 'whileLoop', typeName: 'whileLoop', label: 'Loop', description: null, data: value },
    state,
    ports: {
      converse: (request) => {
        asked.push(request);
        return Promise.resolve({ type: 'answered', text: reply, captured: null });
      },
    },
    signal: new AbortController().signal,
    asked,
  };
}

describe('the condition of a loop', () => {
  it.each([
    [first, 'condition@1', 'Until it shines.\n\nCurrent iteration: 0\nInitial input: draft'],
    [third, 'condition@3', 'Until it shines.\n\nCurrent iteration: 2\nLast output: better'],
  ])('calls a model', async (state, branch, text) => {
    const asked = question({ conditionPrompt: 'Until it shines.', conditionModel: 'm' }, state);
    await new LoopCondition().decide(asked);
    expect(asked.asked).toMatchObject([
      {
        branch,
        isShown: false,
        model: 'm',
        tools: [],
        parameters: { temperature: 0, max_tokens: 10 },
        messages: [
          { role: 'system', content: expect.stringMatching(/only "continue" or "done"/) },
          { role: 'user', content: text },
        ],
      },
    ]);
  });

  it.each([
    ['continue', true],
    ['I would CONTINUE.', true],
    ['done', false],
    ['', false],
  ])('continues with %j: %s', async (reply, continues) => {
    expect(await new LoopCondition().decide(question({}, first, reply))).toEqual({ type: 'decided', continues });
  });

  const evaluators = new Map<string, LoopEvaluator>([
    ['short', ({ current }) => current.length < 6],
    ['broken', () => Promise.reject(new Error('boom'))],
  ]);

  it('calls a registered evaluator', async () => {
    const condition = new LoopCondition(evaluators);
    const asked = question({ customEvaluator: 'short' }, first);
    expect(await condition.decide(asked)).toEqual({ type: 'decided', continues: true });
    expect(await condition.decide(question({ customEvaluator: 'short' }, third))).toMatchObject({ continues: false });
    expect(asked.asked).toEqual([]);
  });

  it.each([
    ['absent', 'Loop evaluator not registered: absent'],
    ['broken', 'Loop evaluator "broken" failed: boom'],
  ])('fails the node: %s', async (customEvaluator, message) => {
    await expect(new LoopCondition(evaluators).decide(question({ customEvaluator }, first))).rejects.toThrow(message);
  });
});
