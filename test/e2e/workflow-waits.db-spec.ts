import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';

import { InterruptsService } from '#approvals';
import { WorkflowStateReader } from '#workflows';

import { textReply, toolCallReply } from '../harness/scripted-reply.js';
import { agent, openWorkflowStage, type WorkflowStage } from '../harness/workflow-stage.js';

let stage: WorkflowStage;

beforeAll(async () => {
  stage = await openWorkflowStage();
});
afterEach(() => {
  stage.ran.length = 0;
  stage.assertPlayed();
});
afterAll(async () => {
  await stage.close();
});

const output = { type: 'output', format: 'text' };
const say = (text: string) => ({ ...output, template: `${text}: {{input}}` });
const hitl = (mode: string, more: object = {}) => ({ hitl: { enabled: true, mode, ...more } });

describe('approval node', () => {
  const nodes = { ok: { type: 'approval', prompt: 'Send it?' }, yes: say('Yes'), no: say('No'), late: say('Late') };
  const edges = ['start -> ok', 'ok.output -> yes', 'ok.rejected -> no', 'ok.timeout -> late'];

  it.each([
    ['hands its input on when it is approved', { action: 'approve' }, 'Yes: Hello'],
    ['hands on what was made of it', { action: 'modify', data: 'Good day' }, 'Yes: Good day'],
    ['leads elsewhere when it is refused', { action: 'reject' }, 'No: Hello'],
  ])('%s', async (_, answer, content) => {
    const jobId = await stage.run(nodes, edges);
    await stage.answer((await stage.waitsAt(jobId)).get('ok'), answer);
    expect(await stage.ended(jobId)).toMatchObject({ status: 'completed', content });
  });

  it('follows its timeout edge without an answer in time', async () => {
    const jobId = await stage.run(nodes, edges);
    await stage.waits(jobId);
    await stage.expire(jobId);
    await stage.timers();
    expect(await stage.ended(jobId)).toMatchObject({ status: 'completed', content: 'Late: Hello' });
    expect(await stage.rows('SELECT status FROM interrupt WHERE job_id = $1', [jobId])).toEqual([
      { status: 'expired' },
    ]);
  });
});

describe('input node', () => {
  const schema = { type: 'object', required: ['size'], properties: { size: { type: 'integer' } } };
  const nodes = { form: { type: 'input', prompt: 'Which size?', schema }, out: say('Out') };

  it('passes the form on and accepts only a valid one', async () => {
    const jobId = await stage.run(nodes, ['start -> form', 'form -> out']);
    const asked = (await stage.waitsAt(jobId)).get('form');
    expect(asked?.request).toMatchObject({ mode: 'input', inputSchema: schema });
    await expect(stage.answer(asked, { action: 'submit', data: { size: 'big' } })).rejects.toMatchObject({
      code: 'invalid_input',
    });
    await stage.answer(asked, { action: 'submit', data: { size: 42 } });
    expect(await stage.ended(jobId)).toMatchObject({ status: 'completed', content: 'Out: {"size":42}' });
  });

  it.each(['approve', 'submit', 'modify', 'custom'])('rejects action %s without a form', async (action) => {
    const jobId = await stage.run(nodes, ['start -> form', 'form -> out']);
    const asked = (await stage.waitsAt(jobId)).get('form');
    await expect(stage.answer(asked, { action })).rejects.toMatchObject({ code: 'bad_request', field: 'data' });
    await stage.answer(asked, { action, data: { size: 1 } });
    expect(await stage.ended(jobId)).toMatchObject({ status: 'completed', content: 'Out: {"size":1}' });
  });

  it('cannot be skipped: the next node reads the form', async () => {
    const jobId = await stage.run(nodes, ['start -> form', 'form -> out']);
    const asked = (await stage.waitsAt(jobId)).get('form');
    for (const answer of [{ action: 'skip' }, { action: 'skip', data: { size: 1 } }])
      await expect(stage.answer(asked, answer)).rejects.toMatchObject({
        ...{ code: 'bad_request', field: 'action' },
        details: { issues: ['action must be one of approve, reject, submit, modify, custom'] },
      });
    await stage.answer(asked, { action: 'submit', data: { size: 1 } });
    expect(await stage.ended(jobId)).toMatchObject({ status: 'completed', content: 'Out: {"size":1}' });
  });

  it('continues without a form after its deadline with defaultAction skip', async () => {
    const form = { ...nodes.form, defaultAction: 'skip' };
    const jobId = await stage.run({ ...nodes, form }, ['start -> form', 'form -> out']);
    await stage.waits(jobId);
    await stage.expire(jobId);
    await stage.timers();
    expect(await stage.ended(jobId)).toMatchObject({ status: 'completed', content: 'Out: Hello' });
  });

  it('fails after its deadline without a timeout edge', async () => {
    const jobId = await stage.run(nodes, ['start -> form', 'form -> out']);
    await stage.waits(jobId);
    await stage.expire(jobId);
    await stage.timers();
    expect(await stage.ended(jobId)).toMatchObject({ status: 'failed', error: { message: 'HITL: Request timed out' } });
  });
});

describe('request of a node without an answer in time', () => {
  it.each([
    ['counts as a refusal', {}, ['reject', 'No: Hello']],
    ['counts as approved with defaultAction approve', { defaultAction: 'approve' }, ['approve', 'Yes: Drafted.']],
    ['skips the node with defaultAction skip', { defaultAction: 'skip' }, ['skip', 'Yes: Hello']],
  ])('%s', async (_, more, [outcome, content]) => {
    if (outcome === 'approve') stage.script('Draft it.', textReply(['Drafted.']));
    const nodes = {
      a: agent('Draft it.', hitl('approval', { timeout: 60_000, ...more })),
      yes: say('Yes'),
      no: say('No'),
    };
    const jobId = await stage.run(nodes, ['start -> a', 'a.output -> yes', 'a.rejected -> no']);
    const asked = (await stage.waitsAt(jobId)).get('a');
    expect((asked?.expiresAt ?? 0) - Date.now()).toBeLessThanOrEqual(60_000);
    await stage.expire(jobId);
    await stage.timers();
    expect(await stage.ended(jobId)).toMatchObject({ status: 'completed', content });
    const [resolved] = await stage.eventsOf(jobId, 'interrupt-resolved');
    expect(resolved?.body).toMatchObject({ interruptId: asked?.id, outcome });
    await expect(stage.answer(asked, { action: 'approve' })).rejects.toMatchObject({ code: 'expired' });
  });
});

describe('wait node', () => {
  it('uses no worker until its time', async () => {
    const nodes = { pause: { type: 'wait', durationMs: 3_600_000 }, out: say('Out') };
    const jobId = await stage.run(nodes, ['start -> pause', 'pause -> out']);
    expect([...(await stage.waitsAt(jobId)).keys()]).toEqual(['pause']);
    expect(await stage.rows('SELECT lease_owner FROM job WHERE id = $1', [jobId])).toEqual([{ lease_owner: null }]);
    await stage.expire(jobId);
    await stage.timers();
    expect(await stage.ended(jobId)).toMatchObject({ status: 'completed', content: 'Out: Hello' });
  });

  it('passes at once when its time is in the past', async () => {
    const nodes = { pause: { type: 'wait', until: '2020-01-01T00:00:00Z' }, out: say('Out') };
    const jobId = await stage.run(nodes, ['start -> pause', 'pause -> out']);
    expect(await stage.ended(jobId)).toMatchObject({ status: 'completed', content: 'Out: Hello' });
    expect(await stage.eventsOf(jobId, 'job-waiting')).toEqual([]);
  });

  it('continues with the data of its event, and at its timeout edge without one', async () => {
    const nodes = {
      pause: { type: 'wait', event: 'order {{input}}', timeout: 60_000 },
      out: say('Out'),
      late: say('Late'),
    };
    const edges = ['start -> pause', 'pause.output -> out', 'pause.timeout -> late'];
    const jobId = await stage.run(nodes, edges, { prompt: '7' });
    const asked = (await stage.waitsAt(jobId)).get('pause');
    expect(asked?.title).toContain('order 7');
    await stage.answer(asked, { action: 'submit', data: { paid: true } });
    expect(await stage.ended(jobId)).toMatchObject({ status: 'completed', content: 'Out: {"paid":true}' });
    const late = await stage.run(nodes, edges, { prompt: '8' });
    await stage.waits(late);
    await stage.expire(late);
    await stage.timers();
    expect(await stage.ended(late)).toMatchObject({ status: 'completed', content: 'Late: 8' });
  });
});

describe('interrupt of a wait node', () => {
  it('accepts no answer, sends no reminder, and is listed for members who may deliver its event', async () => {
    const nodes = { pause: { type: 'wait', event: 'paid' }, out: say('Out') };
    const jobId = await stage.run(nodes, ['start -> pause', 'pause -> out']);
    const awaited = (await stage.waitsAt(jobId)).get('pause');
    expect(awaited).toMatchObject({ kind: 'wait', status: 'open', request: { event: 'paid' } });
    const inbox = stage.engine.app.get(InterruptsService);
    const { member } = stage.people;
    expect(await inbox.count(member, { jobId })).toBe(0);
    expect(await inbox.count(member, { jobId, assignee: 'mine', kinds: ['wait'] })).toBe(0);
    expect(await stage.rows('SELECT remind_at FROM interrupt WHERE job_id = $1', [jobId])).toEqual([
      { remind_at: null },
    ]);
    const [found] = await inbox.list(member, { jobId, kinds: ['wait'] }, { limit: 10 });
    expect(found?.id).toBe(awaited?.id);
    const reader = stage.engine.app.get(WorkflowStateReader);
    const state = await reader.read(member.workspaceId, jobId);
    expect(state?.hitlRequests).toEqual({});
    await stage.answer(found, { action: 'submit', data: 'in cash' });
    expect(await stage.ended(jobId)).toMatchObject({ status: 'completed', content: 'Out: in cash' });
  });
});

describe('agent node with a waiting call', () => {
  const call = (name: string, args = '{"to":"Bob"}') => toolCallReply([{ id: `c_${name}`, name, arguments: args }]);

  it('continues with an approved call without another model request', async () => {
    await stage.policy({ rules: [{ match: 'send', action: 'require_approval' }] });
    stage.script('Mail.', call('send'), textReply(['Sent.']));
    const jobId = await stage.run({ mail: agent('Mail.', { tools: ['send'] }) }, ['start -> mail']);
    const asked = (await stage.waitsAt(jobId)).get('mail');
    expect(asked).toMatchObject({ kind: 'tool_approval', tool: 'send', nodeId: 'mail' });
    expect(await stage.statusesOf(jobId)).toEqual({ start: 'completed', mail: 'waiting' });
    await stage.answer(asked, { decision: 'approve', argumentsHash: hashOf(asked?.request) });
    expect(await stage.ended(jobId)).toMatchObject({ status: 'completed', content: 'Sent.' });
    expect(stage.requests('Mail.')).toHaveLength(2);
    expect(stage.ran).toEqual([['send', { to: 'Bob' }]]);
    expect(stage.asked('Mail.').at(-1)).toContainEqual({ role: 'tool', tool_call_id: 'c_send', content: 'send done' });
  });

  it('reads that a call was denied and continues', async () => {
    stage.script('Mail too.', call('send'), textReply(['Not sent.']));
    const jobId = await stage.run({ mail: agent('Mail too.', { tools: ['send'] }) }, ['start -> mail']);
    const asked = (await stage.waitsAt(jobId)).get('mail');
    await stage.answer(asked, { decision: 'deny', argumentsHash: hashOf(asked?.request) });
    expect(await stage.ended(jobId)).toMatchObject({ status: 'completed', content: 'Not sent.' });
    expect(await stage.rows('SELECT status FROM tool_call WHERE job_id = $1', [jobId])).toEqual([{ status: 'denied' }]);
  });

  it('asks a person for more iterations with onMaxToolIterations: hitl', async () => {
    stage.script('Search.', call('look_up'), call('look_up'));
    const data = { tools: ['look_up'], maxToolIterations: 1, onMaxToolIterations: 'hitl' };
    const jobId = await stage.run({ find: agent('Search.', data) }, ['start -> find']);
    const asked = (await stage.waitsAt(jobId)).get('find');
    expect(asked?.request).toMatchObject({ id: expect.stringMatching(/^hitl-tool-limit-find-\d+$/), mode: 'approval' });
    await stage.answer(asked, { action: 'approve' });
    expect(await stage.ended(jobId)).toMatchObject({
      status: 'completed',
      content: 'Warning: Maximum tool iterations (1) reached again after HITL approval. Last content: ',
    });
  });
});

function hashOf(request: unknown): unknown {
  return typeof request === 'object' && request !== null && 'argumentsHash' in request ? request.argumentsHash : null;
}
