import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';

import { type HttpTarget, startHttpTarget } from '../harness/http-target.js';
import { textReply } from '../harness/scripted-reply.js';
import { agent, openWorkflowStage, type WorkflowStage } from '../harness/workflow-stage.js';

let stage: WorkflowStage;
let target: HttpTarget;

beforeAll(async () => {
  stage = await openWorkflowStage();
  target = await startHttpTarget(({ method, path, headers, body }, response) => {
    const isBad = path.startsWith('/bad');
    response.writeHead(isBad ? 503 : 200, { 'content-type': 'application/json' });
    response.end(JSON.stringify({ method, path, key: headers['idempotency-key'] ?? null, body }));
  });
});
afterEach(() => {
  stage.assertPlayed();
  stage.ran.length = 0;
});
afterAll(async () => {
  await target.close();
  await stage.close();
});

const output = { type: 'output', format: 'text' };
const noRetry = { errorHandling: { retry: { maxRetries: 0 } } };

describe('tool node', () => {
  const tool = (data: object) => ({ type: 'tool', ...data });

  it('runs a tool once, through the ledger', async () => {
    const nodes = { look: tool({ toolId: 'look_up', config: { to: '{{input}}' } }) };
    const jobId = await stage.run(nodes, ['start -> look'], { prompt: 'cats' });
    expect(await stage.ended(jobId)).toMatchObject({ status: 'completed', content: 'look_up done' });
    expect(stage.ran).toEqual([['look_up', { to: 'cats' }]]);
    expect(
      await stage.rows('SELECT name, arguments, status, result FROM tool_call WHERE job_id = $1', [jobId]),
    ).toEqual([{ name: 'look_up', arguments: '{"to":"cats"}', status: 'completed', result: 'look_up done' }]);
    const [event] = await stage.eventsOf(jobId, 'tool-call');
    expect(event?.body).toMatchObject({ nodeId: 'look', call: { name: 'look_up' } });
  });

  it('requests an approval before it runs when the policy requires it', async () => {
    await stage.policy({ rules: [{ match: 'send', action: 'require_approval' }] });
    const nodes = { post: tool({ toolId: 'send', config: { to: 'Bob' } }) };
    const jobId = await stage.run(nodes, ['start -> post']);
    const asked = (await stage.waitsAt(jobId)).get('post');
    expect(asked).toMatchObject({ kind: 'tool_approval', tool: 'send' });
    expect(stage.ran).toEqual([]);
    await stage.answer(asked, { decision: 'approve', argumentsHash: hashOf(asked?.request) });
    expect(await stage.ended(jobId)).toMatchObject({ status: 'completed', content: 'send done' });
    expect(stage.ran).toEqual([['send', { to: 'Bob' }]]);
  });

  it('fails when the policy denies the call', async () => {
    await stage.policy({ rules: [{ match: 'send', action: 'block' }] });
    const nodes = { post: tool({ toolId: 'send', config: { to: 'Bob' }, ...noRetry }) };
    const jobId = await stage.run(nodes, ['start -> post']);
    expect(await stage.ended(jobId)).toMatchObject({ status: 'failed' });
    expect(stage.ran).toEqual([]);
    expect(await stage.rows('SELECT status FROM tool_call WHERE job_id = $1', [jobId])).toEqual([{ status: 'denied' }]);
  });
});

describe('memory node', () => {
  const memory = (data: object) => ({ type: 'memory', ...data });
  const query = memory({ operation: 'query', limit: 1 });

  it('stores a text that a later node of the session finds', async () => {
    const nodes = {
      keep: memory({ operation: 'store', text: 'Noted: {{input}}' }),
      query,
      out: { ...output, sources: ['query'] },
    };
    const edges = ['start -> keep', 'keep -> query', 'query -> out'];
    const jobId = await stage.run(nodes, edges, { prompt: 'red shoes' });
    const { content } = await stage.ended(jobId);
    expect(content).toMatch(/^\[\d{4}-\d\d-\d\dT[\d:.]+Z\] \[keep\] Noted: red shoes$/);
  });

  it('finds texts of earlier jobs of its thread, and none of other threads', async () => {
    const thread = 'of the shoes';
    await stage.ended(
      await stage.run({ keep: memory({ operation: 'store' }) }, ['start -> keep'], { prompt: 'size 42', thread }),
    );
    const found = await stage.run({ query }, ['start -> query'], { prompt: 'Which size?', thread });
    expect((await stage.ended(found)).content).toContain('[keep] size 42');
    const lost = await stage.run({ query }, ['start -> query'], { prompt: 'Which size?', thread: 'another' });
    expect((await stage.ended(lost)).content).toBe('No memories found.');
  });
});

describe('validate and transform nodes', () => {
  const check = { type: 'schemaValidation', spec: { type: 'object', required: ['name'] } };

  it('pass input that matches the schema', async () => {
    const jobId = await stage.run({ check }, ['start -> check'], { prompt: '{"name":"x"}' });
    expect(await stage.ended(jobId)).toMatchObject({ status: 'completed', content: '{"name":"x"}' });
  });

  it('fail once for input that does not match', async () => {
    const jobId = await stage.run({ check }, ['start -> check'], { prompt: '{}' });
    expect(await stage.ended(jobId)).toMatchObject({ status: 'failed', error: { code: 'VALIDATION' } });
    expect(await stage.statusesOf(jobId)).toEqual({ start: 'completed', check: 'error' });
  });

  it('send invalid input to the error edge with its faults', async () => {
    const bad = { ...output, template: '{{input}} is wrong: {{check_error}}' };
    const nodes = { check: { ...check, onInvalid: 'route' }, good: output, bad };
    const jobId = await stage.run(nodes, ['start -> check', 'check.output -> good', 'check.invalid -> bad'], {
      prompt: '{}',
    });
    const { content } = await stage.ended(jobId);
    expect(content).toMatch(
      /^\{\} is wrong: \{"message":"The input does not fit the schema: .+","code":"VALIDATION","nodeId":"check"\}$/,
    );
    expect(await stage.statusesOf(jobId)).toMatchObject({ good: 'skipped', bad: 'completed' });
  });

  it('transform the input', async () => {
    const nodes = { total: { type: 'transform', expression: 'input.prices[0] + input.prices[1]' } };
    const jobId = await stage.run(nodes, ['start -> total'], { prompt: '{"prices":[2,3]}' });
    expect(await stage.ended(jobId)).toMatchObject({ status: 'completed', content: '5' });
  });
});

describe('http node', () => {
  it('calls a server, and inserted values cannot change other parts of the URL', async () => {
    const nodes = { get: { type: 'http', url: `${target.url}/find?q={{input}}`, select: '$.path' } };
    const jobId = await stage.run(nodes, ['start -> get'], { prompt: 'a&b=c' });
    expect(await stage.ended(jobId)).toMatchObject({ status: 'completed', content: '/find?q=a%26b%3Dc' });
  });

  it('sends an idempotency key with a request that may change something', async () => {
    const nodes = {
      post: { type: 'http', method: 'POST', url: `${target.url}/order`, body: { item: '{{input}}' }, select: '$.key' },
    };
    const jobId = await stage.run(nodes, ['start -> post'], { prompt: 'shoes' });
    expect(await stage.ended(jobId)).toMatchObject({ status: 'completed', content: `${jobId}:2` });
    expect(target.requests.at(-1)).toMatchObject({ method: 'POST', body: '{"item":"shoes"}' });
  });

  it('fails with an error response after its retries', async () => {
    const retry = { maxRetries: 2, baseDelay: 1 };
    const nodes = { get: { type: 'http', url: `${target.url}/bad`, errorHandling: { retry } } };
    const before = target.requests.length;
    const jobId = await stage.run(nodes, ['start -> get']);
    expect(await stage.ended(jobId)).toMatchObject({ status: 'failed', error: { code: 'LLM_ERROR' } });
    expect(target.requests.length - before).toBe(3);
  });
});

describe('output node', () => {
  const nodes = (out: object) => ({ a: agent('Say A.'), b: agent('Say B.'), out: { ...output, ...out } });
  const edges = ['start -> a', 'start -> b', 'a -> out', 'b -> out'];
  const answers = () => {
    stage.script('Say A.', textReply(['A.']));
    stage.script('Say B.', textReply(['B.']));
  };

  it.each([
    ['all that came before', {}, 'Hello\n\nA.\n\nB.'],
    [
      'its sources, between an introduction and an end',
      { sources: ['b', 'a'], introText: 'In:', outroText: 'Out.' },
      'In:\n\nB.\n\nA.\n\nOut.',
    ],
    [
      'its template',
      { useRawTemplate: true, template: '{{a}} and {{ outputs.b }}, {{unknown}}' },
      'A. and B., {{unknown}}',
    ],
    ['JSON', { format: 'json', sources: ['a'] }, '{\n  "result": "A."\n}'],
  ])('returns %s', async (_, out, content) => {
    answers();
    expect(await stage.ended(await stage.run(nodes(out), edges))).toMatchObject({ status: 'completed', content });
  });

  it('lets a model combine its sources and streams the text', async () => {
    answers();
    stage.script('Write one text.', textReply(['Both', ' of them.']));
    const synthesis = {
      mode: 'synthesis',
      sources: ['a', 'b'],
      synthesis: { prompt: 'Write one text.', model: 'scripted' },
    };
    const jobId = await stage.run(nodes(synthesis), edges);
    expect(await stage.ended(jobId)).toMatchObject({ content: 'Both of them.', attempt: 0 });
    expect(stage.asked('Write one text.')[0]?.[1]?.content).toBe(
      '--- Output from a ---\nA.\n\n--- Output from b ---\nB.',
    );
    expect(
      (await stage.eventsOf(jobId, 'text-delta'))
        .filter(({ body }) => 'offset' in body)
        .map(({ body }) => body['nodeId']),
    ).toEqual(['out']);
  });

  it('returns the path that led to it', async () => {
    answers();
    const { content } = await stage.ended(await stage.run(nodes({ sources: ['a'], includeMetadata: true }), edges));
    expect(content).toMatch(/^\[Executed: start → a → b\]\n\[Time: [\dT:.-]+Z\]\s+A\.$/);
  });
});

function hashOf(request: unknown): unknown {
  return typeof request === 'object' && request !== null && 'argumentsHash' in request ? request.argumentsHash : null;
}

describe('texts of workflow nodes', () => {
  const open = (jobId: string) =>
    stage.rows(`SELECT kind FROM interrupt WHERE job_id = $1 AND status = 'open'`, [jobId]);

  it('store characters that Postgres cannot store in replaced form', async () => {
    const jobId = await stage.run({ a: { type: 'transform', expression: 'input.a' } }, ['start -> a'], {
      prompt: '{"a":"x\\u0000y\\ud800z"}',
    });
    expect(await stage.ended(jobId)).toMatchObject({ status: 'completed', content: 'x\ufffdy\ufffdz' });
  });

  it('fail over the size limit', async () => {
    const twice = { type: 'transform', expression: 'text + text' };
    const nodes = Object.fromEntries(Array.from({ length: 30 }, (_, i) => [`n${i}`, twice]));
    const edges = ['start -> n0', ...Array.from({ length: 29 }, (_, i) => `n${i} -> n${i + 1}`)];
    const jobId = await stage.run(nodes, edges, { prompt: 'x'.repeat(1_000) });
    expect(await stage.ended(jobId)).toMatchObject({ status: 'failed' });
    const [longest] = await stage.rows(
      'SELECT max(length(input) + length(output)) < 17000000 AS ok FROM node_run WHERE job_id = $1',
      [jobId],
    );
    expect(longest).toEqual({ ok: true });
  });

  it('fail over the size limit when nodes only pass them on', async () => {
    const pause = { type: 'wait', durationMs: 0 };
    const nodes = Object.fromEntries(Array.from({ length: 45 }, (_, i) => [`n${i}`, pause]));
    const edges = Array.from({ length: 15 }, (_, i) => {
      const [from, a, b, to] = [i === 0 ? 'start' : `n${i * 3 - 1}`, `n${i * 3}`, `n${i * 3 + 1}`, `n${i * 3 + 2}`];
      return [`${from} -> ${a}`, `${from} -> ${b}`, `${a} -> ${to}`, `${b} -> ${to}`];
    }).flat();
    const jobId = await stage.run(nodes, edges, { prompt: 'x'.repeat(12_000) });
    expect(await stage.ended(jobId)).toMatchObject({ status: 'failed', error: { code: 'OUTPUT_LIMIT' } });
    expect(await open(jobId)).toEqual([]);
  });
});
