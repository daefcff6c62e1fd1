import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';

import { createGate, errorReply, textReply, toolCallReply } from '../harness/scripted-reply.js';
import { agent, openWorkflowStage, type WorkflowStage } from '../harness/workflow-stage.js';

let stage: WorkflowStage;

beforeAll(async () => {
  stage = await openWorkflowStage();
});
afterEach(() => {
  stage.assertPlayed();
  stage.ran.length = 0;
});
afterAll(async () => {
  await stage.close();
});

const output = { type: 'output', format: 'text' };
const say = (text: string) => ({ ...output, template: `${text}: {{input}}` });
const once = (mode: string, retry: object = { maxRetries: 0 }) => ({ errorHandling: { mode, retry } });
const bad = errorReply(400, { error: { message: 'no such thing' } });
const hang = { body: [], end: 'hang' } as const;

describe('failing workflow node', () => {
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
