import { describe, expect, it } from '@jest/globals';

import { type NodeCase, runNode } from '../../../../test/harness/nodes.js';

const agent = (hitl: object): Pick<NodeCase, 'type' | 'data' | 'models'> => ({
  type: 'agent',
  data: { model: 'm', hitl: { enabled: true, ...hitl } },
  models: { '': ['first'], 'review@1': ['second'], 'review@2': ['third'] },
});
const both = [
  ['output', 'next'],
  ['rejected', 'no'],
] as const;

describe('a person before a node', () => {
  it('gets no request when the option is off', async () => {
    const { record } = await runNode(agent({ enabled: false }));
    expect(record.questions).toEqual([]);
  });

  it('decides before the model call', async () => {
    const { outcome, record } = await runNode({
      ...agent({ mode: 'approval', message: 'May I?', timeout: 5_000, defaultAction: 'skip' }),
      people: { before: 'waiting' },
    });
    expect(outcome).toEqual({ type: 'waiting', interruptIds: ['before'] });
    expect(record.conversations).toEqual([]);
    expect(record.questions).toEqual([
      {
        key: 'before',
        mode: 'approval',
        title: 'Node',
        prompt: 'May I?',
        options: [
          { id: 'approve', label: 'Approve', action: 'approve' },
          { id: 'reject', label: 'Reject', action: 'reject' },
        ],
        timeoutMs: 5_000,
        defaultAction: 'skip',
      },
    ]);
  });

  it.each([
    ['approve', undefined, 'hello'],
    ['submit', 'edited', 'edited'],
    ['modify', { a: 1 }, '{"a":1}'],
    ['custom', '', ''],
    ['approve', {}, '{}'],
    ['approve', null, 'hello'],
    ['submit', 0, '0'],
  ] as const)('lets the node run after %s with %j', async (action, data, input) => {
    for (const mode of ['approval', 'input']) {
      const { outcome, record } = await runNode({ ...agent({ mode }), people: { before: { action, data } } });
      expect(outcome).toMatchObject({ output: 'first', handles: ['output'] });
      expect(record.texts().slice(1)).toEqual(input === '' ? [] : [input]);
    }
  });

  it('sends a rejected input along the rejected edge', async () => {
    const people = { before: { action: 'reject', data: undefined } } as const;
    const { outcome } = await runNode({ ...agent({}), people, edges: both });
    expect(outcome).toEqual({ type: 'finished', output: '', handles: ['rejected'], handOn: 'input' });
  });

  it('fails the node after a rejection without a rejected edge', async () => {
    const people = { before: { action: 'reject', data: undefined } } as const;
    await expect(runNode({ ...agent({}), people, edges: [[null, 'next']] })).rejects.toThrow('HITL: Request rejected');
  });

  it('may skip the node', async () => {
    const people = { before: { action: 'skip', data: 'ignored' } } as const;
    const { outcome } = await runNode({ ...agent({}), people });
    const note = { note: 'HITL: Skipped' };
    expect(outcome).toEqual({ type: 'finished', output: 'hello', handles: ['output'], handOn: 'output', extra: note });
  });

  it('skips a router along all its routes', async () => {
    const { outcome } = await runNode({
      type: 'router',
      data: { hitl: { enabled: true } },
      people: { before: { action: 'skip', data: undefined } },
      edges: [
        ['route-1', 'a'],
        ['error', 'b'],
        ['rejected', 'c'],
        ['route-2', 'd'],
      ],
    });
    expect(outcome).toMatchObject({ output: 'hello', handles: ['route-1', 'route-2'] });
  });

  it('replaces the input of a router, which it passes on', async () => {
    const { outcome } = await runNode({
      type: 'router',
      data: { hitl: { enabled: true, mode: 'input' } },
      models: { '': ['A'] },
      people: { before: { action: 'submit', data: 'edited' } },
      edges: [['route-1', 'a']],
    });
    expect(outcome).toMatchObject({ output: 'edited', handOn: 'output', handles: ['route-1'] });
  });
});

describe('a person after a node', () => {
  const review = agent({ mode: 'review' });

  it('sees the output of the node', async () => {
    const { record } = await runNode({ ...review, people: { 'review@1': 'waiting' } });
    expect(record.questions[0]).toMatchObject({
      key: 'review@1',
      mode: 'review',
      output: 'first',
      defaultAction: 'reject',
    });
    expect(record.questions[0]).not.toHaveProperty('options');
  });

  it.each([
    ['approve', 'ignored', 'first'],
    ['submit', 'ignored', 'first'],
    ['custom', 'ignored', 'first'],
    ['skip', 'ignored', 'first'],
    ['modify', undefined, 'first'],
    ['modify', 'better', 'better'],
    ['modify', '', ''],
    ['modify', [1], '[1]'],
  ] as const)('sets the output after %s with %j', async (action, data, output) => {
    const { outcome } = await runNode({ ...review, people: { 'review@1': { action, data } } });
    expect(outcome).toMatchObject({ output, handles: ['output'], handOn: 'output' });
  });

  it('sends a rejected output along the rejected edge', async () => {
    const people = { 'review@1': { action: 'reject', data: undefined } } as const;
    const { outcome } = await runNode({ ...review, people, edges: both });
    expect(outcome).toMatchObject({
      output: 'first',
      handles: ['rejected'],
      handOn: 'output',
      extra: { rejections: 1 },
    });
  });

  it('makes the node run again from the original input, and reviews the new output', async () => {
    const people = {
      'review@1': { action: 'reject', data: undefined },
      'review@2': { action: 'reject', data: undefined },
      'review@3': { action: 'approve', data: undefined },
    } as const;
    const { outcome, record } = await runNode({ ...review, people });
    expect(outcome).toMatchObject({ output: 'third', handles: ['output'], extra: { rejections: 2 } });
    expect(record.questions.map(({ output }) => output)).toEqual(['first', 'second', 'third']);
    expect(record.conversations.map(({ branch }) => branch)).toEqual([undefined, 'review@1', 'review@2']);
    expect(record.texts(2)).toEqual(record.texts(0));
  });

  it('may reject the output ten times', async () => {
    const numbers = Array.from({ length: 11 }, (_, k) => k + 1);
    const people = Object.fromEntries(
      numbers.map((k) => [`review@${k}`, { action: 'reject', data: undefined } as const]),
    );
    const models = { '': ['x'], ...Object.fromEntries(numbers.map((k) => [`review@${k}`, ['x']])) };
    await expect(runNode({ ...review, models, people })).rejects.toThrow('HITL: Request rejected');
    const last = { ...people, 'review@11': { action: 'approve', data: undefined } as const };
    const { outcome } = await runNode({ ...review, models, people: last });
    expect(outcome).toMatchObject({ output: 'x', extra: { rejections: 10 } });
  });
});
