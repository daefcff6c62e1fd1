import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';

import { eventually } from '../harness/eventually.js';
import { createGate, errorReply, type Gate, textChunk, textReply, toolCallReply } from '../harness/scripted-reply.js';
import { agent, openWorkflowStage, type WorkflowStage } from '../harness/workflow-stage.js';

let stage: WorkflowStage;

beforeAll(async () => {
  stage = await openWorkflowStage({ LOG_LEVEL: 'error' });
});
afterEach(() => {
  stage.assertPlayed();
  stage.ran.length = 0;
});
afterAll(async () => {
  await stage.close();
});

const output = { type: 'output', format: 'text' };
const call = (name: string) => toolCallReply([{ id: `c_${name}`, name, arguments: '{"to":"x"}' }]);
/** A reply to a lost worker: it waits until another worker has claimed the job. */
const held = (gate: Gate) => ({ ...textReply(['Too late.']), before: gate });
const asked = (line: string, count: number) =>
  eventually(`${line} was requested ${count} times`, () => (stage.requests(line).length >= count ? true : undefined));
/** Node runs by their events: each begun once and ended once. */
const nodeEvents = async (jobId: string) =>
  (await stage.eventsOf(jobId, 'node-started', 'node-finished')).map(
    ({ type, body }) => `${type} ${String(body['nodeId'])}`,
  );

async function lose(jobId: string, line: string): Promise<void> {
  await asked(line, 1);
  await stage.loseLease(jobId);
}

describe('workflow job of a lost worker', () => {
  it('runs no finished node again', async () => {
    const gate = createGate();
    stage.script('First part.', textReply(['One.']));
    stage.script('Second part.', held(gate), textReply(['Two.']));
    const nodes = { a: agent('First part.'), b: agent('Second part.'), out: { ...output, sources: ['a', 'b'] } };
    const jobId = await stage.run(nodes, ['start -> a', 'a -> b', 'b -> out']);
    await lose(jobId, 'Second part.');
    expect(await stage.ended(jobId)).toMatchObject({ status: 'completed', content: 'One.\n\nTwo.' });
    gate.open();
    expect(stage.requests('First part.')).toHaveLength(1);
    expect(stage.asked('Second part.')[1]).toEqual(stage.asked('Second part.')[0]);
    expect((await nodeEvents(jobId)).sort()).toEqual([
      ...['node-finished a', 'node-finished b', 'node-finished out', 'node-finished start'],
      ...['node-started a', 'node-started b', 'node-started out', 'node-started start'],
    ]);
    expect((await stage.eventsOf(jobId, 'job-started')).map(({ body }) => body['epoch'])).toHaveLength(2);
  });

  it('continues an agent after its last round and repeats no call', async () => {
    const gate = createGate();
    stage.script('Use a tool.', call('send'), held(gate), textReply(['Sent.']));
    const jobId = await stage.run({ a: agent('Use a tool.', { tools: ['send'] }) }, ['start -> a']);
    await asked('Use a tool.', 2);
    await stage.loseLease(jobId);
    expect(await stage.ended(jobId)).toMatchObject({ status: 'completed', content: 'Sent.' });
    gate.open();
    expect(stage.ran).toEqual([['send', { to: 'x' }]]);
    expect(stage.requests('Use a tool.')).toHaveLength(3);
    expect(stage.asked('Use a tool.')[2]).toEqual(stage.asked('Use a tool.')[1]);
  });

  it('repeats only the unfinished branches', async () => {
    const gate = createGate();
    stage.script('Quick branch.', textReply(['Quick.']));
    stage.script('Slow branch.', held(gate), textReply(['Slow.']));
    const branches = [
      { id: 'q', label: 'Q', prompt: 'Quick branch.' },
      { id: 's', label: 'S', prompt: 'Slow branch.' },
    ];
    const jobId = await stage.run({ fan: { type: 'parallel', model: 'scripted', branches } }, ['start -> fan']);
    await asked('Slow branch.', 1);
    await eventually(
      'the quick one is stored',
      async () => (await stage.rows(`SELECT 1 FROM round WHERE job_id = $1 AND branch = 'q'`, [jobId]))[0],
    );
    await stage.loseLease(jobId);
    expect(await stage.ended(jobId)).toMatchObject({ status: 'completed', content: '## Q\nQuick.\n\n## S\nSlow.' });
    gate.open();
    expect(stage.requests('Quick branch.')).toHaveLength(1);
  });

  it('continues a loop at its iteration and decides no iteration twice', async () => {
    const gate = createGate();
    stage.script('More of it?', textReply(['continue']), textReply(['continue']), textReply(['done']));
    stage.script('Again.', textReply(['One.']), held(gate), textReply(['Two.']));
    const loop = { type: 'whileLoop', conditionPrompt: 'More of it?', conditionModel: 'scripted' };
    const nodes = { loop, a: agent('Again.'), out: { ...output, sources: ['loop'] } };
    const jobId = await stage.run(nodes, ['start -> loop', 'loop.body -> a', 'loop.done -> out']);
    await asked('Again.', 2);
    await stage.loseLease(jobId);
    expect(await stage.ended(jobId)).toMatchObject({ status: 'completed', content: 'Two.' });
    gate.open();
    expect(stage.requests('More of it?')).toHaveLength(3);
    expect((await stage.eventsOf(jobId, 'loop-iteration')).map(({ body }) => body['iteration'])).toEqual([1, 2]);
  });

  it('continues inside a subflow', async () => {
    const gate = createGate();
    const child = await stage.publish({ a: agent('Inner one.'), b: agent('Inner two.') }, ['start -> a', 'a -> b']);
    stage.script('Inner one.', textReply(['One.']));
    stage.script('Inner two.', held(gate), textReply(['Two.']));
    const sub = { type: 'subflow', subflowId: child, inputMappings: { input: '{{input}}' } };
    const jobId = await stage.run({ sub }, ['start -> sub']);
    await lose(jobId, 'Inner two.');
    expect(await stage.ended(jobId)).toMatchObject({ status: 'completed', content: 'Two.' });
    gate.open();
    expect(stage.requests('Inner one.')).toHaveLength(1);
    expect((await stage.runsOf(jobId)).map(({ node }) => node)).toEqual([
      ...['start', 'sub', 'sf:sub|start', 'sf:sub|a', 'sf:sub|b'],
    ]);
  });

  it('withdraws the text of an unfinished leaf and keeps that of a finished one', async () => {
    stage.script('Leaf one.', textReply(['One. ']));
    const gate = createGate();
    stage.script('Leaf two.', { body: [textChunk('Half'), gate, ...textReply([]).body] }, textReply(['Two.']));
    const jobId = await stage.run({ a: agent('Leaf one.'), b: agent('Leaf two.') }, ['start -> a', 'start -> b']);
    await eventually('both have shown something', async () => {
      const [shown] = await stage.rows<{ n: number }>(
        `SELECT count(DISTINCT body->>'nodeId')::int AS n FROM job_event
        WHERE job_id = $1 AND type = 'text-delta'`,
        [jobId],
      );
      return shown?.n === 2 ? true : undefined;
    });
    await stage.loseLease(jobId);
    expect(await stage.ended(jobId)).toMatchObject({ status: 'completed', content: 'Two.' });
    gate.open();
    const [lost] = await stage.eventsOf(jobId, 'round-restarted');
    expect(lost?.body).toMatchObject({ reason: 'worker_lost', nodeId: 'b' });
    expect(stage.requests('Leaf one.')).toHaveLength(1);
  });

  it('opens no second request to a person', async () => {
    const gate = createGate();
    stage.script('After a yes.', held(gate), textReply(['Done.']));
    const approved = { hitl: { enabled: true, mode: 'approval' } };
    const jobId = await stage.run({ a: agent('After a yes.', approved) }, ['start -> a']);
    await stage.answer((await stage.waitsAt(jobId)).get('a'), { action: 'approve', data: 'Go.' });
    await lose(jobId, 'After a yes.');
    expect(await stage.ended(jobId)).toMatchObject({ status: 'completed', content: 'Done.' });
    gate.open();
    expect(await stage.rows('SELECT status FROM interrupt WHERE job_id = $1', [jobId])).toEqual([
      { status: 'resolved' },
    ]);
    expect(stage.asked('After a yes.')[1]?.at(-1)).toEqual({ role: 'user', content: 'Go.' });
  });

  it('opens one request when the person answers during the takeover', async () => {
    const gate = createGate();
    stage.script('Works on.', held(gate), textReply(['Worked.']));
    const nodes = {
      ok: { type: 'approval', prompt: 'Ok?' },
      a: agent('Works on.'),
      out: { ...output, sources: ['ok', 'a'] },
    };
    const jobId = await stage.run(nodes, ['start -> ok', 'start -> a', 'ok -> out', 'a -> out']);
    const [question] = await stage.asks(jobId, 1);
    await lose(jobId, 'Works on.');
    await stage.answer(question, { action: 'modify', data: 'Fine.' });
    expect(await stage.ended(jobId)).toMatchObject({ status: 'completed', content: 'Fine.\n\nWorked.' });
    gate.open();
    expect(await stage.rows('SELECT status FROM interrupt WHERE job_id = $1', [jobId])).toEqual([
      { status: 'resolved' },
    ]);
  });
});
const once = (mode: string, retry: object = { maxRetries: 0 }) => ({ errorHandling: { mode, retry } });
const hang = { body: [], end: 'hang' } as const;

describe('failing workflow node', () => {
  const say = (text: string) => ({ ...output, template: `${text}: {{input}}` });
  const bad = errorReply(400, { error: { message: 'no such thing' } });

  it('follows its error edge with its input and the error', async () => {
    stage.script('Try it.', bad);
    const nodes = {
      a: agent('Try it.', once('branch')),
      ok: say('Ok'),
      no: { ...output, template: '{{input}} | {{a_error}}' },
    };
    const jobId = await stage.run(nodes, ['start -> a', 'a.output -> ok', 'a.error -> no']);
    const { content, status } = await stage.ended(jobId);
    expect(status).toBe('completed');
    const [input, error] = content.split(' | ');
    expect(input).toBe('Hello');
    expect(JSON.parse(error ?? '')).toEqual({
      ...{ message: expect.any(String), code: 'VALIDATION', nodeId: 'a', statusCode: 400 },
      retry: {
        attempts: 1,
        maxAttempts: 1,
        history: [{ attempt: 1, code: 'VALIDATION', message: expect.any(String) }],
      },
    });
    expect(await stage.statusesOf(jobId)).toEqual({ start: 'completed', a: 'error', ok: 'skipped', no: 'completed' });
  });

  it('passes on an empty output with error handling `continue`', async () => {
    stage.script('Try it.', bad);
    const nodes = { a: agent('Try it.', once('continue')), ok: say('Ok'), no: say('No') };
    const jobId = await stage.run(nodes, ['start -> a', 'a.output -> ok', 'a.error -> no']);
    expect(await stage.ended(jobId)).toMatchObject({ status: 'completed', content: 'Ok: ' });
    expect(await stage.statusesOf(jobId)).toEqual({ start: 'completed', a: 'error', ok: 'completed', no: 'skipped' });
  });

  it('stops the run: concurrent nodes are aborted, later nodes are skipped', async () => {
    const gate = createGate();
    stage.script('Try it.', { ...bad, before: gate });
    stage.script('Take long.', hang);
    const nodes = { a: agent('Try it.', once('stop')), b: agent('Take long.'), out: output };
    const jobId = await stage.run(nodes, ['start -> a', 'start -> b', 'a -> out', 'b -> out']);
    const long = await stageRequest('Take long.');
    gate.open();
    expect(await stage.ended(jobId)).toMatchObject({ status: 'failed', error: { code: 'VALIDATION' } });
    await long.settled;
    expect(long.aborted).toBe(true);
    expect(await stage.statusesOf(jobId)).toEqual({ start: 'completed', a: 'error', b: 'cancelled', out: 'skipped' });
    const nodeEvents = (await stage.eventsOf(jobId, 'node-finished')).map(
      ({ body }) => `${String(body['nodeId'])} ${String(body['status'])}`,
    );
    expect(nodeEvents.sort()).toEqual(['a error', 'b cancelled', 'out skipped', 'start completed']);
  });

  it('closes the open requests of the run when it stops the run', async () => {
    const gate = createGate();
    stage.script('Try it.', { ...bad, before: gate });
    const nodes = { a: agent('Try it.', once('stop')), ok: { type: 'approval', prompt: 'Ok?' } };
    const jobId = await stage.run(nodes, ['start -> a', 'start -> ok']);
    await stage.asks(jobId, 1);
    gate.open();
    expect(await stage.ended(jobId)).toMatchObject({ status: 'failed' });
    expect(await stage.rows('SELECT status FROM interrupt WHERE job_id = $1', [jobId])).toEqual([
      { status: 'cancelled' },
    ]);
  });

  it('closes the open requests of abandoned work while the run continues', async () => {
    const gate = createGate();
    await stage.policy({ rules: [{ match: 'send', action: 'require_approval' }] });
    const items = {
      type: 'map',
      items: '["Fail.", "Mail.", "Ask."]',
      onItemError: 'stop',
      errorHandling: { mode: 'continue' },
    };
    // One item fails, while another waits for a call, and a third for a person.
    stage.model.answer(({ body }) => {
      if (!body.includes('Do this item.')) return undefined;
      if (body.includes('"content":"Fail."')) return { ...bad, before: gate };
      return toolCallReply([{ id: 'c', name: 'send', arguments: '{"to":"x"}' }]);
    });
    const work = agent('Do this item.', { tools: ['send'], ...once('stop') });
    const nodes = { map: items, work, late: { type: 'approval', prompt: 'Done?' } };
    const jobId = await stage.run(nodes, ['start -> map', 'map.body -> work', 'map.done -> late']);
    await stage.asks(jobId, 2);
    gate.open();
    await stage.waits(jobId);
    const rows = await stage.rows('SELECT kind, node_id, status FROM interrupt WHERE job_id = $1 ORDER BY id', [jobId]);
    expect(rows).toEqual([
      { kind: 'tool_approval', node_id: 'work', status: 'cancelled' },
      { kind: 'tool_approval', node_id: 'work', status: 'cancelled' },
      { kind: 'human_input', node_id: 'late', status: 'open' },
    ]);
    expect(await stage.rows('SELECT status FROM tool_call WHERE job_id = $1', [jobId])).toEqual(
      Array(2).fill({ status: 'cancelled' }),
    );
    expect(await stage.stop(jobId)).toBe('aborted');
  });

  it('closes the questions of abandoned work while the run continues', async () => {
    const gate = createGate();
    const map = { type: 'map', items: '["x"]', errorHandling: { mode: 'continue' } };
    stage.script('Fail late.', { ...bad, before: gate });
    const nodes = {
      map,
      ok: { type: 'approval', prompt: 'Ok?' },
      a: agent('Fail late.', once('stop')),
      fork: { type: 'transform', expression: 'text' },
      out: say('Out'),
    };
    const edges = ['start -> map', 'map.body -> fork', 'fork -> ok', 'fork -> a', 'map.done -> out'];
    const jobId = await stage.run(nodes, edges);
    await stage.asks(jobId, 1);
    gate.open();
    expect(await stage.ended(jobId)).toMatchObject({ status: 'completed', content: 'Out: ' });
    expect(await stage.rows('SELECT status FROM interrupt WHERE job_id = $1', [jobId])).toEqual([
      { status: 'cancelled' },
    ]);
    expect(await stage.statusesOf(jobId)).toMatchObject({ 'ok@1': 'cancelled', 'a@1': 'error', map: 'error' });
  });
});

describe('retried workflow node', () => {
  it('reports the number of attempts at the end', async () => {
    stage.script('Be patient.', errorReply(429, {}, { 'retry-after': '1' }), textReply(['There.']));
    const jobId = await stage.run(
      { a: agent('Be patient.', once('stop', { maxRetries: 1, baseDelay: 1, maxDelay: 50 })) },
      ['start -> a'],
    );
    expect(await stage.ended(jobId)).toMatchObject({ status: 'completed', content: 'There.' });
    expect(
      await stage.rows(`SELECT extra->'retries' AS retries FROM node_run WHERE job_id = $1 AND node_id = 'a'`, [jobId]),
    ).toEqual([{ retries: 1 }]);
  });

  it('continues after its finished calls without running them again', async () => {
    const call = toolCallReply([{ id: 'c', name: 'look_up', arguments: '{"to":"x"}' }]);
    stage.script('Look it up.', call, errorReply(500), textReply(['There.']));
    const nodes = { a: agent('Look it up.', { tools: ['look_up'], ...once('stop', { maxRetries: 1, baseDelay: 1 }) }) };
    expect(await stage.ended(await stage.run(nodes, ['start -> a']))).toMatchObject({
      status: 'completed',
      content: 'There.',
    });
    expect(stage.ran).toHaveLength(1);
  });

  it('reports all attempts when the last one fails, and does not retry permanent errors', async () => {
    stage.script('Fail.', errorReply(500), errorReply(401));
    const jobId = await stage.run({ a: agent('Fail.', once('stop', { maxRetries: 3, baseDelay: 1 })) }, ['start -> a']);
    expect(await stage.ended(jobId)).toMatchObject({ status: 'failed', error: { code: 'AUTH' } });
    const [row] = await stage.rows<{ error: unknown }>(
      `SELECT error FROM node_run WHERE job_id = $1 AND node_id = 'a'`,
      [jobId],
    );
    expect(row?.error).toMatchObject({
      code: 'AUTH',
      retry: {
        attempts: 2,
        maxAttempts: 4,
        history: [
          { attempt: 1, code: 'LLM_ERROR' },
          { attempt: 2, code: 'AUTH' },
        ],
      },
    });
  });

  it('fails when it exceeds its timeout', async () => {
    stage.script('Dawdle.', hang);
    // On a slow machine its time is over before its model is asked.
    while (stage.requests('Dawdle.').length === 0) {
      const jobId = await stage.run({ a: agent('Dawdle.', { timeoutMs: 100, ...once('stop') }) }, ['start -> a']);
      expect(await stage.ended(jobId)).toMatchObject({
        status: 'failed',
        error: { code: 'TIMEOUT', message: 'Node timed out after 100ms', retryable: true },
      });
    }
    const request = await stageRequest('Dawdle.');
    await request.settled;
    expect(request.aborted).toBe(true);
  });
});

/** The newest request with this line, once it has arrived. */
async function stageRequest(line: string) {
  for (;;) {
    const found = stage.requests(line).at(-1);
    if (found !== undefined) return found;
    await stage.model.request(stage.model.requests.length + 1);
  }
}
