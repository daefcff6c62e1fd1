import { describe, expect, it } from '@jest/globals';

import { AppError, DatabaseUnavailable } from '#platform';

import { type NodeCase, runNode } from '../../../../test/harness/nodes.js';
import type { NodePorts } from '../engine/node-executor.js';

const all = [
  ['output', 'next'],
  ['rejected', 'no'],
  ['timeout', 'late'],
] as const;

describe.each([
  ['approval', { prompt: 'May I?' }],
  ['input', { prompt: 'Who?', schema: { type: 'object' } }],
])('a node of type %s', (type, data) => {
  const ask = (answer: NonNullable<NodeCase['people']>[string], edges: NodeCase['edges'] = all) =>
    runNode({ type, data, edges, people: { node: answer } });

  it.each([
    ['approve', undefined, 'hello'],
    ['submit', { who: 'ann' }, '{"who":"ann"}'],
    ['modify', 'edited', 'edited'],
    ['submit', '', ''],
    ['custom', null, 'hello'],
    ['skip', 'ignored', 'hello'],
  ] as const)('takes its output edge after %s with %j', async (action, given, output) => {
    const { outcome } = await ask({ action, data: given });
    expect(outcome).toMatchObject({ type: 'finished', output, handles: ['output'], handOn: 'output' });
  });

  it.each([
    ['reject', 'rejected'],
    ['timeout', 'timeout'],
  ] as const)('takes the edge of the same name after %s', async (action, handle) => {
    const { outcome } = await ask({ action, data: undefined });
    expect(outcome).toMatchObject({ handles: [handle] });
  });

  it.each([
    ['reject', 'HITL: Request rejected', 'UNKNOWN'],
    ['timeout', 'HITL: Request timed out', 'TIMEOUT'],
  ] as const)('fails without an edge for %s', async (action, message, code) => {
    await expect(ask({ action, data: undefined }, [[null, 'next']])).rejects.toMatchObject({ message, code });
  });

  it('waits while its request is open', async () => {
    const { outcome, record } = await ask('waiting');
    expect(outcome).toEqual({ type: 'waiting', interruptIds: ['node'] });
    expect(record.questions[0]).toMatchObject({
      ...('schema' in data ? { inputSchema: data.schema } : {}),
      defaultAction: 'timeout',
    });
  });
});

describe('an approval node', () => {
  it('names the approvers and the possible decisions', async () => {
    const data = {
      prompt: 'May I?',
      options: [{ id: 'later', action: 'reject' }],
      decidableBy: 'approvers',
      fourEyes: true,
      timeout: 60_000,
      defaultAction: 'approve',
    };
    const { record } = await runNode({ type: 'approval', data, people: { node: 'waiting' } });
    expect(record.questions).toEqual([
      {
        key: 'node',
        mode: 'approval',
        title: 'Node',
        prompt: 'May I?',
        options: [{ id: 'later', label: 'later', action: 'reject' }],
        decidableBy: 'approvers',
        fourEyes: true,
        timeoutMs: 60_000,
        defaultAction: 'approve',
      },
    ]);
  });
});

describe('a wait node', () => {
  const now = 1_700_000_000_000;
  const waits: unknown[] = [];
  const run = (data: object, over: { timedOut?: boolean; data?: unknown; edges?: NodeCase['edges'] } = {}) =>
    runNode({
      type: 'wait',
      data: { ...data },
      edges: over.edges ?? all,
      outputs: { a: '2026-12-01T09:00:00Z', id: 'x7' },
      ports: {
        waitFor: (wait) => {
          waits.push(wait);
          return Promise.resolve({ type: 'over', timedOut: over.timedOut ?? true, data: over.data });
        },
      },
    });

  it.each([
    [{ durationMs: 1_000 }, { at: now + 1_000, event: null }],
    [{ until: '2026-12-01T09:00:00Z' }, { at: Date.UTC(2026, 11, 1, 9), event: null }],
    [{ until: '{{a}}' }, { at: Date.UTC(2026, 11, 1, 9), event: null }],
    [{ event: 'paid-{{id}}' }, { at: null, event: 'paid-x7' }],
    [
      { event: 'paid', timeout: 5_000 },
      { at: now + 5_000, event: 'paid' },
    ],
  ])('waits for %j', async (data, wait) => {
    waits.length = 0;
    const { outcome } = await run(data, { timedOut: !('event' in data) });
    expect(waits).toEqual([wait]);
    expect(outcome).toMatchObject({ output: 'hello', handles: ['output'] });
  });

  it('passes on the data of the event', async () => {
    const { outcome } = await run({ event: 'paid' }, { timedOut: false, data: { sum: 5 } });
    expect(outcome).toMatchObject({ output: '{"sum":5}' });
  });

  it('takes the timeout edge for an event that does not arrive', async () => {
    const { outcome } = await run({ event: 'paid', timeout: 1 });
    expect(outcome).toMatchObject({ output: 'hello', handles: ['timeout'] });
    await expect(run({ event: 'paid', timeout: 1 }, { edges: [[null, 'next']] })).rejects.toMatchObject({
      code: 'TIMEOUT',
    });
  });

  it.each([[{}], [{ until: 'tomorrow' }]])('cannot wait for %j', async (data) => {
    await expect(run(data)).rejects.toMatchObject({ details: { isFinal: true } });
  });
});

describe('an http node', () => {
  const requests: Parameters<NodePorts['fetch']>[0][] = [];
  const run = (data: object, answer: { status: number; text: string } | Error = { status: 200, text: 'ok' }) =>
    runNode({
      type: 'http',
      data: { url: 'https://x.example/', ...data },
      input: 'a/b?c',
      outputs: { base: 'https://y.example/api', quoted: 'say "hi"' },
      ports: {
        fetch: (request) => {
          requests.push(request);
          return answer instanceof Error ? Promise.reject(answer) : Promise.resolve(answer);
        },
      },
    });

  it('fills templates in the request', async () => {
    requests.length = 0;
    const { outcome } = await run({
      method: 'POST',
      url: '{{base}}/items/{{input}}',
      headers: { 'X-Note': 'about {{input}}', 'X-Number': 7 },
      body: { text: '{{quoted}}', list: [1] },
      timeout: 5_000,
    });
    expect(requests).toEqual([
      {
        method: 'POST',
        url: 'https://y.example/api/items/a%2Fb%3Fc',
        headers: { 'content-type': 'application/json', 'x-note': 'about a/b?c', 'x-number': '7' },
        body: '{"text":"say \\"hi\\"","list":[1]}',
        timeoutMs: 5_000,
      },
    ]);
    expect(outcome).toMatchObject({ output: 'ok', handles: ['output'] });
  });

  it('sends a text body unchanged, and no absent body', async () => {
    requests.length = 0;
    await run({ method: 'PUT', body: 'note: {{input}}' });
    await run({});
    expect(requests).toMatchObject([
      { body: 'note: a/b?c', headers: {} },
      { method: 'GET', body: null, timeoutMs: 30_000 },
    ]);
  });

  it.each([
    ['$.items[0].name', 'first'],
    ['$.items[*].n', '[1,2]'],
    ['$.nothing', 'null'],
  ])('outputs the part at %s', async (select, output) => {
    const text = '{"items":[{"name":"first","n":1},{"n":2}]}';
    expect((await run({ select }, { status: 200, text })).outcome).toMatchObject({ output });
  });

  it.each([
    ['items', 'ok'],
    ['$.items', 'no json'],
  ])('fails for the path %s in the response %s', async (select, text) => {
    await expect(run({ select }, { status: 200, text })).rejects.toMatchObject({ code: 'VALIDATION' });
  });

  it.each([
    ['GET', 404, 'VALIDATION', false],
    ['GET', 503, 'LLM_ERROR', false],
    ['GET', 429, 'RATE_LIMIT', false],
    ['GET', 302, 'UNKNOWN', true],
    ['POST', 500, 'LLM_ERROR', true],
    ['POST', 503, 'LLM_ERROR', false],
  ])('fails for the answer to %s with %d as %s, for good: %s', async (...[method, status, code, isFinal]) => {
    const running = run({ method }, { status, text: 'sorry' });
    await expect(running).rejects.toMatchObject({ message: expect.stringContaining('sorry'), code });
    await expect(run({ method }, { status, text: '' })).rejects.toMatchObject({ details: { isFinal } });
  });

  it('does not repeat a POST that the server may have received', async () => {
    const lost = new AppError({ code: 'x', message: 'fell silent: timeout', retryable: true });
    await expect(run({ method: 'GET' }, lost)).rejects.toBe(lost);
    await expect(run({ method: 'POST' }, lost)).rejects.toMatchObject({ code: 'TIMEOUT', details: { isFinal: true } });
  });

  it('reports that the database was unavailable before a POST was sent', async () => {
    const away = new DatabaseUnavailable(new Error('ECONNREFUSED'));
    await expect(run({ method: 'POST' }, away)).rejects.toBe(away);
  });
});

describe('a transform node', () => {
  const run = (expression: string, input = '{"items":[{"n":1},{"n":2}]}') =>
    runNode({ type: 'transform', data: { expression }, input, outputs: { a: 'ann' }, inputs: { most: 3 } });

  it.each([
    ['input.items.map(i, i.n)', '[1,2]'],
    ['outputs.a + "!"', 'ann!'],
    ['{"most": inputs.most, "length": text.size()}', '{"most":3,"length":27}'],
    ['input.items.size()', '2'],
  ])('%s', async (expression, output) => {
    expect((await run(expression)).outcome).toMatchObject({ output, handles: ['output'] });
  });

  it('treats text that is not JSON as text', async () => {
    expect((await run('input + "?"', 'who')).outcome).toMatchObject({ output: 'who?' });
  });

  it.each(['input.', 'input.missing', 'absent', 'input.matches("a")'])('fails: %s', async (expression) => {
    await expect(run(expression)).rejects.toMatchObject({ details: { isFinal: true } });
  });
});
