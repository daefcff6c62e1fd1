import { describe, expect, it } from '@jest/globals';

import { runNode } from '../../../../test/harness/nodes.js';
import type { NodePorts } from '../engine/node-executor.js';

describe('a start node', () => {
  it('passes on the text of the user', async () => {
    const { outcome } = await runNode({ type: 'start' });
    expect(outcome).toEqual({ type: 'finished', output: 'hello', handles: ['output'], handOn: 'output' });
  });
});

describe('a tool node', () => {
  const calls: unknown[] = [];
  const ports = (properties: object, status = 'completed'): Partial<NodePorts> => ({
    toolSchema: (name) => Promise.resolve(name === 'mail.send' ? { type: 'object', properties } : undefined),
    callTool: (call) => {
      calls.push([call.name, JSON.parse(call.arguments)]);
      return Promise.resolve({ type: 'finished', status, text: 'the result' });
    },
  });

  it.each([
    ['templates in it', { to: '{{a}}', n: 1, list: ['{{input}}!'] }, {}, { to: 'ann', n: 1, list: ['hello!'] }],
    ['the input, if the schema has it', { n: 1 }, { input: {} }, { n: 1, input: 'hello' }],
    ['its own input, if it sets one', { input: null }, { input: {} }, { input: null }],
    ['nothing that the schema does not have', {}, { to: {} }, {}],
  ])('calls its tool with %s', async (...[, config, properties, expected]) => {
    calls.length = 0;
    const data = { toolId: 'mail.send', config };
    const { outcome } = await runNode({ type: 'tool', data, ports: ports(properties), outputs: { a: 'ann' } });
    expect(calls).toEqual([['mail.send', expected]]);
    expect(outcome).toMatchObject({ output: 'the result', handles: ['output'] });
  });

  it('accepts `arguments` as the name of `config`', async () => {
    calls.length = 0;
    await runNode({ type: 'tool', data: { toolId: 'mail.send', arguments: { a: 1 } }, ports: ports({}) });
    expect(calls).toEqual([['mail.send', { a: 1 }]]);
  });

  it('fails for an unknown tool', async () => {
    await expect(runNode({ type: 'tool', data: { toolId: 'nope' }, ports: ports({}) })).rejects.toThrow(
      'Tool not registered: nope',
    );
  });

  it.each([
    ['error', 'UNKNOWN'],
    ['timed_out', 'TIMEOUT'],
    ['denied', 'UNKNOWN'],
  ])('fails without a retry when the call is %s', async (status, code) => {
    const running = runNode({ type: 'tool', data: { toolId: 'mail.send' }, ports: ports({}, status) });
    await expect(running).rejects.toMatchObject({ message: 'the result', code, details: { isFinal: true } });
  });

  it('waits for the request of its call', async () => {
    const callTool: NodePorts['callTool'] = () => Promise.resolve({ type: 'waiting', interruptIds: ['i'] });
    const { outcome } = await runNode({
      type: 'tool',
      data: { toolId: 'mail.send' },
      ports: { ...ports({}), callTool },
    });
    expect(outcome).toEqual({ type: 'waiting', interruptIds: ['i'] });
  });
});

describe('a memory node', () => {
  const kept: unknown[] = [];
  const asked: unknown[] = [];
  const ports = (found: number): Partial<NodePorts> => ({
    remember: (...args) => {
      kept.push(args);
      return Promise.resolve();
    },
    recall: (query) => {
      asked.push(query);
      const entry = { text: 'likes tea', nodeId: 'a', at: '2026-01-01T00:00:00.000Z' };
      return Promise.resolve(Array.from({ length: found }, () => entry));
    },
  });

  it('stores a text', async () => {
    kept.length = 0;
    const data = { operation: 'store', text: '{{a}} wrote {{input}}', metadata: { topic: 'x', source: 'mine' } };
    const { outcome } = await runNode({ type: 'memory', data, ports: ports(0), outputs: { a: 'Ann' } });
    const timestamp = '2023-11-14T22:13:20.000Z';
    const metadata = { timestamp, source: 'mine', nodeId: 'n', sessionId: 'session-1', topic: 'x' };
    expect(kept).toEqual([['Ann wrote hello', metadata]]);
    expect(outcome).toMatchObject({ output: 'Ann wrote hello' });
    await runNode({ type: 'memory', data: { operation: 'store' }, ports: ports(0) });
    expect(kept[1]).toEqual(['hello', { timestamp, source: 'agent', nodeId: 'n', sessionId: 'session-1' }]);
  });

  it('finds stored texts', async () => {
    asked.length = 0;
    const line = '[2026-01-01T00:00:00.000Z] [a] likes tea';
    const first = await runNode({ type: 'memory', ports: ports(2) });
    expect(first.outcome).toMatchObject({ output: `${line}\n${line}`, handles: ['output'] });
    await runNode({ type: 'memory', data: { text: 'tea?', topK: 3, filter: { topic: 'x' } }, ports: ports(1) });
    expect(asked).toEqual([
      { text: 'hello', limit: 5, filter: {} },
      { text: 'tea?', limit: 3, filter: { topic: 'x' } },
    ]);
  });

  it.each([
    [{}, 'No memories found.'],
    [{ fallback: 'Nothing.' }, 'Nothing.'],
  ])('reports an empty result: %j', async (data, expected) => {
    const { outcome } = await runNode({ type: 'memory', data, ports: ports(0) });
    expect(outcome).toMatchObject({ output: expected });
  });
});

describe('a schema validation node', () => {
  const spec = { type: 'object', required: ['a'], properties: { a: { type: 'number' } } };
  const check = (input: string, onInvalid?: string): ReturnType<typeof runNode> =>
    runNode({ type: 'schemaValidation', data: { spec, onInvalid }, input });

  it('passes on a value that matches the schema', async () => {
    expect((await check('{"a":1}')).outcome).toMatchObject({ output: '{"a":1}', handles: ['output'] });
  });

  it.each(['{"a":"x"}', '{}', 'no json', ''])('fails for the input %j', async (input) => {
    await expect(check(input)).rejects.toMatchObject({ code: 'VALIDATION' });
  });

  it.each(['{"a":"x"}', 'no json'])('sends %j along the error edge', async (input) => {
    const { outcome } = await check(input, 'route');
    expect(outcome).toMatchObject({ output: input, handles: ['invalid'], handOn: 'output' });
    const outputs = outcome.type === 'finished' ? outcome.extra?.outputs : undefined;
    expect(JSON.parse(outputs?.['n_error'] ?? '')).toMatchObject({ code: 'VALIDATION', nodeId: 'n' });
  });
});
