import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';

import { eventually } from '../harness/eventually.js';
import { type HttpTarget, startHttpTarget } from '../harness/http-target.js';
import { createGate, errorReply, textReply, toolCallReply } from '../harness/scripted-reply.js';
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
    await stage.answer(asked, { decision: 'approve', argumentsHash: asked?.request['argumentsHash'] });
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

  it('fail the job with OUTPUT_LIMIT when nodes only pass them on and the copies exceed the size limit', async () => {
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

describe('router node', () => {
  const chooses = (route_id: string) =>
    toolCallReply([{ id: 'r', name: 'select_route', arguments: JSON.stringify({ route_id, reasoning: 'It fits.' }) }]);
  const router = (data: object = {}) => ({ type: 'router', model: 'scripted', prompt: 'Rules.', ...data });
  const ways = ['start -> way', 'way.left -> a', 'way.right -> b'];
  const two = (data: object = {}) => ({ way: router(data), a: agent('I am A.'), b: agent('I am B.') });

  it('follows the route that its model picks, and the next node reads the user message', async () => {
    stage.script('Rules.', chooses('right'));
    stage.script('I am B.', textReply(['From B.']));
    const jobId = await stage.run(two(), ways, { prompt: 'Which way?' });
    expect(await stage.ended(jobId)).toMatchObject({ status: 'completed', content: 'From B.' });
    expect(await stage.runsOf(jobId)).toEqual([
      { node: 'start', status: 'completed', output: 'Which way?' },
      { node: 'way', status: 'completed', output: 'Which way?' },
      { node: 'a', status: 'skipped', output: null },
      { node: 'b', status: 'completed', output: 'From B.' },
    ]);
    const [asked] = stage.requests('Rules.').map(({ json }) => json);
    expect(asked).toMatchObject({
      temperature: 0,
      max_tokens: 100,
      tool_choice: { function: { name: 'select_route' } },
    });
    expect(asked?.['messages']).toEqual([
      { role: 'system', content: expect.stringContaining('(id: left)') },
      { role: 'user', content: 'Which way?' },
    ]);
    expect(stage.asked('I am B.')).toEqual([
      [
        { role: 'system', content: 'I am B.\n\nContext from previous agents:\n[start]: Which way?' },
        { role: 'user', content: 'Which way?' },
      ],
    ]);
  });

  it('publishes its route and stores it with its run', async () => {
    stage.script('Rules.', chooses('left'));
    stage.script('I am A.', textReply(['From A.']));
    const jobId = await stage.run(two(), ways);
    await stage.ended(jobId);
    const route = { selectedRoute: 'left', selectedNodeId: 'a', selectedName: 'a', reasoning: 'It fits.' };
    expect((await stage.eventsOf(jobId, 'route-selected')).map(({ body }) => body)).toEqual([
      { nodeId: 'way', routeId: 'left', name: 'a', reasoning: 'It fits.', fallbackUsed: false },
    ]);
    const [finished] = (await stage.eventsOf(jobId, 'node-finished')).filter(({ body }) => body['nodeId'] === 'way');
    expect(finished?.body['route']).toEqual({ ...route, fallbackUsed: false });
    expect(
      await stage.rows(`SELECT extra->'route' AS route FROM node_run WHERE job_id = $1 AND node_id = 'way'`, [jobId]),
    ).toEqual([{ route: { ...route, fallbackUsed: false } }]);
    expect(await stage.eventsOf(jobId, 'tool-call')).toEqual([]);
  });

  it('follows the first route with a warning when its model picks none', async () => {
    stage.script('Rules.', textReply(['I cannot say.']));
    stage.script('I am A.', textReply(['From A.']));
    const jobId = await stage.run(two(), ways);
    expect(await stage.ended(jobId)).toMatchObject({ status: 'completed', content: 'From A.' });
    expect((await stage.eventsOf(jobId, 'route-selected'))[0]?.body).toMatchObject({
      routeId: 'left',
      fallbackUsed: true,
    });
  });

  it.each([
    ['the name of a route', 'B', 'From B.'],
    ['its number', 'I would take number 2.', 'From B.'],
  ])('reads %s from a text', async (_, text, content) => {
    stage.script('Rules.', textReply([text]));
    stage.script('I am B.', textReply(['From B.']));
    expect(await stage.ended(await stage.run(two(), ways))).toMatchObject({ status: 'completed', content });
  });

  it('fails when a choice is required and its model makes none', async () => {
    stage.script('Rules.', textReply(['']));
    const jobId = await stage.run(two({ fallbackBehavior: 'error', ...noRetry }), ways);
    expect(await stage.ended(jobId)).toMatchObject({
      status: 'failed',
      error: { message: 'Router "way" failed to select a valid route.' },
    });
    expect(await stage.statusesOf(jobId)).toEqual({ start: 'completed', way: 'error', a: 'skipped', b: 'skipped' });
  });

  it('follows no route when a choice is optional, and the run succeeds', async () => {
    stage.script('Rules.', textReply(['No idea.']));
    const jobId = await stage.run(two({ fallbackBehavior: 'none' }), ways);
    const content = 'Router failed to select a route';
    expect(await stage.ended(jobId)).toMatchObject({ status: 'completed', content });
    expect(await stage.statusesOf(jobId)).toEqual({ start: 'completed', way: 'completed', a: 'skipped', b: 'skipped' });
    expect(await stage.eventsOf(jobId, 'route-selected')).toEqual([]);
  });

  it('echoes its choice for older documents', async () => {
    stage.script('Rules.', chooses('left'));
    stage.script('I am A.', textReply(['From A.']));
    const jobId = await stage.run(two(), ways, { meta: { compat: { routerEcho: true } } });
    await stage.ended(jobId);
    expect(stage.asked('I am A.').at(-1)).toEqual([
      { role: 'system', content: expect.stringContaining('[way]: Routed to a') },
      { role: 'user', content: 'Hello' },
      { role: 'user', content: 'Routed to a' },
    ]);
  });
});

describe('parallel node', () => {
  const branches = [
    { id: 'pro', label: 'Pro', prompt: 'Argue for it.' },
    { id: 'con', label: 'Con', prompt: 'Argue against it.' },
  ];
  const parallel = (data: object = {}) => ({ type: 'parallel', model: 'scripted', branches, ...data });

  it('runs all branches concurrently and merges their outputs', async () => {
    stage.script('Argue for it.', textReply(['Yes!']));
    stage.script('Argue against it.', textReply(['No!']));
    stage.script('Merge it.', textReply(['Perhaps.']));
    const nodes = {
      fan: parallel({ prompt: 'Merge it.' }),
      out: { type: 'output', format: 'text', sources: ['fan', 'fan:pro'] },
    };
    const jobId = await stage.run(nodes, ['start -> fan', 'fan.merged -> out'], { prompt: 'Cats?' });
    expect(await stage.ended(jobId)).toMatchObject({ status: 'completed', content: 'Perhaps.\n\nYes!' });
    expect(stage.asked('Argue for it.')[0]).toEqual([
      { role: 'system', content: 'Argue for it.' },
      { role: 'user', content: 'Cats?' },
    ]);
    expect(stage.asked('Merge it.')[0]?.[1]).toMatchObject({
      content: expect.stringContaining('## Pro\nYes!\n\n## Con\nNo!'),
    });
    const branchEvents = await stage.eventsOf(jobId, 'branch-started', 'branch-finished');
    expect(branchEvents.map(({ type, body }) => `${type} ${String(body['branchId'])}`).sort()).toEqual([
      ...['branch-finished __merge__', 'branch-finished con', 'branch-finished pro'],
      ...['branch-started __merge__', 'branch-started con', 'branch-started pro'],
    ]);
  });

  it('publishes each start and end once although its worker is lost and people are asked', async () => {
    const gate = createGate();
    const order = { id: 'call_1', name: 'send', arguments: '{"to":"a"}' };
    stage.script('Argue for it.', textReply(['Yes!']));
    stage.script(
      'Argue against it.',
      { ...textReply(['Lost.']), before: gate },
      toolCallReply([order]),
      textReply(['No!']),
    );
    await stage.policy({ rules: [{ match: 'send', action: 'require_approval' }] });
    const armed = branches.map((branch) => ({ ...branch, tools: ['send'] }));
    const jobId = await stage.run({ fan: parallel({ branches: armed }) }, ['start -> fan']);
    await eventually('one branch is over, and the other one speaks', async () => {
      const branchEvents = await stage.eventsOf(jobId, 'branch-started', 'branch-finished');
      return branchEvents.length === 3 && stage.requests('Argue against it.').length > 0 ? true : undefined;
    });
    await stage.loseLease(jobId);
    gate.open();
    const [request] = await stage.waits(jobId);
    await stage.answer(request, { decision: 'approve', argumentsHash: request?.request['argumentsHash'] });
    expect(await stage.ended(jobId)).toMatchObject({ status: 'completed', content: '## Pro\nYes!\n\n## Con\nNo!' });
    const branchEvents = await stage.eventsOf(jobId, 'branch-started', 'branch-finished');
    expect(branchEvents.map(({ type, body }) => `${type} ${String(body['branchId'])}`)).toEqual([
      ...['branch-started pro', 'branch-started con', 'branch-finished pro', 'branch-finished con'],
    ]);
    expect(branchEvents.map(({ body }) => body['nodeRunId'])).toEqual(Array(4).fill(`${jobId}:2`));
    await stage.policy({ rules: [] });
  });

  it('streams branches under their own ids and not as content of the job', async () => {
    stage.script('Argue for it.', textReply(['Yes!']));
    stage.script('Argue against it.', textReply(['No!']));
    const jobId = await stage.run({ fan: parallel() }, ['start -> fan']);
    const content = '## Pro\nYes!\n\n## Con\nNo!';
    expect(await stage.ended(jobId)).toMatchObject({ status: 'completed', content, attempt: 0 });
    const deltas = (await stage.eventsOf(jobId, 'text-delta')).map(({ body }) => body);
    expect(deltas).toHaveLength(3);
    expect(deltas).toContainEqual({ round: expect.any(Number), nodeId: 'fan', branchId: 'pro', text: 'Yes!' });
    expect(deltas).toContainEqual({ round: expect.any(Number), nodeId: 'fan', branchId: 'con', text: 'No!' });
    expect(deltas).toContainEqual({ round: expect.any(Number), offset: 0, text: content });
  });

  it('succeeds although a branch fails, and names it', async () => {
    stage.script('Argue for it.', textReply(['Yes!']));
    stage.script('Argue against it.', errorReply(400, { error: { message: 'no' } }));
    const nodes = { fan: parallel({ mergeEnabled: false }), a: agent('I am A.'), b: agent('I am B.') };
    stage.script('I am A.', textReply(['From A.']));
    stage.script('I am B.', textReply(['From B.']));
    const jobId = await stage.run(nodes, ['start -> fan', 'fan.pro -> a', 'fan.con -> b']);
    expect(await stage.ended(jobId)).toMatchObject({ status: 'completed' });
    const { fan } = await stage.outputsOf(jobId);
    expect(fan).toMatch(/^## Pro\nYes!\n\n## Errors\nCon: .+$/);
    // Every target gets the whole text.
    expect(['I am A.', 'I am B.'].map((line) => stage.asked(line).at(-1)?.at(-1))).toEqual([
      { role: 'user', content: fan },
      { role: 'user', content: fan },
    ]);
    const [failed] = (await stage.eventsOf(jobId, 'branch-finished')).filter(({ body }) => body['branchId'] === 'con');
    expect(failed?.body).toMatchObject({ status: 'error', output: '', error: expect.any(String) });
  });

  it('aborts a branch that exceeds its timeout', async () => {
    stage.script('Argue for it.', textReply(['Yes!']));
    stage.script('Argue against it.', { body: [], end: 'hang' });
    const jobId = await stage.run({ fan: parallel({ branchTimeout: 5_000 }) }, ['start -> fan']);
    const content = '## Pro\nYes!\n\n## Errors\nCon: Branch "Con" timed out after 5000ms';
    expect(await stage.ended(jobId)).toMatchObject({ status: 'completed', content });
    const [hung] = stage.requests('Argue against it.').slice(-1);
    await hung?.settled;
    expect(hung?.aborted).toBe(true);
  });
});
