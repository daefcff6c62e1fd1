import { describe, expect, it } from '@jest/globals';

import { type NodeCase, runNode } from '../../../../test/harness/nodes.js';

const earlier = [
  { nodeId: 'start', label: 'Start', type: 'start', output: 'hello' },
  { nodeId: 'a', label: 'Writer', type: 'agent', output: 'one' },
  { nodeId: 'p', label: 'Both', type: 'parallel', output: 'two' },
  { nodeId: 'quiet', label: 'Quiet', type: 'agent', output: '' },
];
const outputs = { 'p:x': 'pros' };
const nodes = [
  { id: 'a', type: 'agent', data: { label: 'Writer', model: 'm' } },
  { id: 'quiet', type: 'agent', data: { label: 'Quiet', model: 'm' } },
  { id: 'p', type: 'parallel', data: { label: 'Both', branches: [{ id: 'x', label: 'Pros' }] } },
];
const output = async (data: object, over: Partial<NodeCase> = {}): Promise<string> => {
  const { outcome } = await runNode({
    type: 'output',
    data: { format: 'text', ...data },
    earlier,
    outputs,
    nodes,
    edges: [],
    ...over,
  });
  expect(outcome).toMatchObject({ type: 'finished', handles: [] });
  return outcome.type === 'finished' ? outcome.output : '';
};

describe('an output node that combines', () => {
  it.each([
    ['all earlier outputs', {}, 'hello\n\none\n\ntwo'],
    ['its sources in their order', { sources: ['p', 'a'] }, 'two\n\none'],
    ['branches, and leaves out what is empty or unknown', { sources: ['p:x', 'quiet', 'nope', 'a'] }, 'pros\n\none'],
    ['what comes before and after', { sources: ['a'], introText: 'In', outroText: 'Out' }, 'In\n\none\n\nOut'],
  ])('combines %s', async (_fact, data, expected) => {
    expect(await output({ ...data, mode: 'combine' })).toBe(expected);
    expect(await output(data)).toBe(expected);
  });

  it('fails before it combines more text than an output may have', async () => {
    const many = { sources: Array(5).fill('a'), format: 'text', mode: 'combine' };
    const long = { nodeId: 'a', label: 'Writer', type: 'agent', output: 'x'.repeat(1_000_000) };
    const running = runNode({
      type: 'output',
      data: many,
      earlier: [long],
      outputs: { a: long.output },
      nodes,
      edges: [],
    });
    await expect(running).rejects.toThrow('Node output exceeds 4194304 characters');
  });

  it('passes on its input when no earlier node has an output', async () => {
    expect(await output({ introText: 'In' }, { earlier: [], input: 'me' })).toBe('In\n\nme');
  });
});

describe('an output node with a template', () => {
  it.each([
    ['beside no mode', { template: '{{a}} / {{p:x}} / {{ input }} / {{nope}}' }, 'one / pros / hello / {{nope}}'],
    ['that is raw, in any mode', { template: '{{outputs.a}}', useRawTemplate: true, mode: 'synthesis' }, 'one'],
    ['that is not there', { useRawTemplate: true }, 'hello'],
    ['beside a mode, which wins', { template: 'T', mode: 'combine', sources: ['a'] }, 'one'],
  ])('%s', async (_fact, data, expected) => {
    expect(await output(data)).toBe(expected);
  });
});

describe('an output node with synthesis', () => {
  it('sends its sources to the model in blocks', async () => {
    const { outcome, record } = await runNode({
      type: 'output',
      data: {
        format: 'text',
        mode: 'synthesis',
        sources: ['a', 'p:x', 'quiet'],
        synthesis: { prompt: 'Sum up.', model: 's' },
      },
      earlier,
      outputs,
      nodes,
      edges: [],
      models: { '': ['sum'] },
    });
    expect(record.conversations[0]).toMatchObject({ model: 's', tools: [] });
    expect(record.texts()).toEqual([
      'Sum up.',
      '--- Output from Writer ---\none\n\n--- Output from Both → Pros ---\npros\n\n--- Output from Quiet ---\n(No output)',
    ]);
    expect(outcome).toMatchObject({ output: 'sum' });
  });

  it('sends its input to the model when it has no sources', async () => {
    const { record } = await runNode({
      type: 'output',
      data: { format: 'text', mode: 'synthesis' },
      edges: [],
      models: { '': ['x'] },
    });
    expect(record.texts()).toEqual([expect.stringContaining('document'), 'hello']);
  });
});

describe('the format of an output', () => {
  const time = '2023-11-14T22:13:20.000Z';
  const chain = ['start', 'a', 'p', 'quiet'];

  it.each([
    ['text', 'hi', false, 'hi'],
    ['text', 'hi', true, `[Executed: start → a → p → quiet]\n[Time: ${time}]\n\nhi`],
    ['markdown', '# hi', false, '# hi'],
    ['markdown', '# hi', true, `---\nnodeChain: [start, a, p, quiet]\ntimestamp: ${time}\n---\n\n# hi`],
    ['json', '{"a":[1]}', false, JSON.stringify({ a: [1] }, null, 2)],
    ['json', 'no json', false, JSON.stringify({ result: 'no json' }, null, 2)],
    [
      'json',
      '{"a":1}',
      true,
      JSON.stringify({ result: { a: 1 }, metadata: { nodeChain: chain, timestamp: time } }, null, 2),
    ],
    ['json', 'no', true, JSON.stringify({ result: 'no', metadata: { nodeChain: chain, timestamp: time } }, null, 2)],
  ])('%s of %s with metadata: %s', async (...[format, input, includeMetadata, expected]) => {
    expect(await output({ format, includeMetadata, template: '{{input}}' }, { input })).toBe(expected);
  });

  it('writes compact JSON if the indentation of a deep or large value would be too long', async () => {
    const deep = `${'['.repeat(900)}${'1,'.repeat(200_000)}1${']'.repeat(900)}`;
    expect(await output({ format: 'json', useRawTemplate: true }, { input: deep })).toBe(deep);
    const large = `[[[${'1,'.repeat(900_000)}1]]]`;
    expect(await output({ format: 'json', useRawTemplate: true }, { input: large })).toHaveLength(large.length);
  });

  it('wraps a value that is nested too deep', async () => {
    const deep = '['.repeat(20_000) + ']'.repeat(20_000);
    expect(JSON.parse(await output({ format: 'json', useRawTemplate: true }, { input: deep }))).toEqual({
      result: deep,
    });
  });
});
