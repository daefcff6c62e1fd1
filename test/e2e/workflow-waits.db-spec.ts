import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';

import { InterruptsService } from '#approvals';
import { WorkflowStateReader } from '#workflows';

import { eventually } from '../harness/eventually.js';
import { createGate, textReply } from '../harness/scripted-reply.js';
import { agent, openWorkflowStage, type WorkflowStage } from '../harness/workflow-stage.js';

let stage: WorkflowStage;

beforeAll(async () => {
  stage = await openWorkflowStage();
});
afterEach(() => {
  stage.assertPlayed();
});
afterAll(async () => {
  await stage.close();
});

const output = { type: 'output', format: 'text' };
const say = (text: string) => ({ ...output, template: `${text}: {{input}}` });
const hitl = (mode: string, more: object = {}) => ({ hitl: { enabled: true, mode, ...more } });
const out = say('Out');
const no = say('No');
/** One agent with a request to a person. */
const nodes = (mode: string, more: object = {}) => ({ a: agent('Draft it.', hitl(mode, more)), out });
const straight = ['start -> a', 'a.output -> out'];
const withRefusal = [...straight, 'a.rejected -> no'];
const asks = (jobId: string) =>
  stage.rows<{ n: string }>('SELECT count(*) AS n FROM interrupt WHERE job_id = $1', [jobId]);

describe('agent node with an approval before it runs', () => {
  it('waits without a model call and shows its prompt and input', async () => {
    const jobId = await stage.run({ ...nodes('approval', { prompt: 'May it?' }), no }, withRefusal, {
      prompt: 'Write.',
    });
    const asked = (await stage.waitsAt(jobId)).get('a');
    expect(stage.requests('Draft it.')).toEqual([]);
    expect(asked).toMatchObject({ kind: 'human_input', nodeId: 'a', status: 'open' });
    expect(asked?.request).toMatchObject({
      id: expect.stringMatching(/^hitl_[0-9a-z]+_\w+$/),
      ...{ nodeId: 'a', nodeLabel: 'a', mode: 'approval', prompt: 'May it?' },
      context: { input: 'Write.', workflowName: expect.stringMatching(/^workflow \d+$/), sessionId: jobId },
      options: [expect.objectContaining({ action: 'approve' }), expect.objectContaining({ action: 'reject' })],
    });
    expect(await stage.statusesOf(jobId)).toEqual({ start: 'completed', a: 'waiting' });
    expect(await stage.rows('SELECT lease_owner, lease_until FROM job WHERE id = $1', [jobId])).toEqual([
      { lease_owner: null, lease_until: null },
    ]);
    await stage.stop(jobId);
  });

  it.each([
    ['with its own input', { action: 'approve' }, 'Write.'],
    ['with what was given instead', { action: 'approve', data: 'Write more.' }, 'Write more.'],
    ['with an empty text, where that was given', { action: 'modify', data: '' }, 'Write.'],
    ['with the submitted data as JSON when it is not text', { action: 'submit', data: { n: 1 } }, '{"n":1}'],
  ])('runs after the approval, %s', async (_, answer, read) => {
    stage.script('Draft it.', textReply(['Drafted.']));
    const jobId = await stage.run(nodes('approval'), straight, { prompt: 'Write.' });
    await stage.answer((await stage.waitsAt(jobId)).get('a'), answer);
    expect(await stage.ended(jobId)).toMatchObject({ status: 'completed', content: 'Out: Drafted.' });
    expect(stage.asked('Draft it.').at(-1)?.at(-1)).toEqual({ role: 'user', content: read });
    expect(await asks(jobId)).toEqual([{ n: '1' }]);
  });

  it('follows its reject edge with its input when it is rejected', async () => {
    const jobId = await stage.run({ ...nodes('approval'), no }, withRefusal, { prompt: 'Write.' });
    await stage.answer((await stage.waitsAt(jobId)).get('a'), { action: 'reject' });
    expect(await stage.ended(jobId)).toMatchObject({ status: 'completed', content: 'No: Write.' });
    expect(await stage.outputsOf(jobId)).toMatchObject({ a: '', out: null, no: 'No: Write.' });
  });

  it('fails without a retry when it is rejected and has no reject edge', async () => {
    const jobId = await stage.run(nodes('approval'), straight);
    await stage.answer((await stage.waitsAt(jobId)).get('a'), { action: 'reject' });
    expect(await stage.ended(jobId)).toMatchObject({ status: 'failed', error: { message: 'HITL: Request rejected' } });
    expect(await asks(jobId)).toEqual([{ n: '1' }]);
  });

  it('passes its input on when it is skipped', async () => {
    const jobId = await stage.run({ ...nodes('approval'), no }, withRefusal, { prompt: 'Write.' });
    await stage.answer((await stage.waitsAt(jobId)).get('a'), { action: 'skip' });
    expect(await stage.ended(jobId)).toMatchObject({ status: 'completed', content: 'Out: Write.' });
    const [finished] = (await stage.eventsOf(jobId, 'node-finished')).filter(({ body }) => body['nodeId'] === 'a');
    expect(finished?.body).toMatchObject({ status: 'completed', output: 'HITL: Skipped' });
  });

  it('accepts only a valid form', async () => {
    stage.script('Draft it.', textReply(['Drafted.']));
    const form = { inputSchema: { type: 'object', required: ['tone'], properties: { tone: { type: 'string' } } } };
    const jobId = await stage.run(nodes('input', form), straight);
    const asked = (await stage.waitsAt(jobId)).get('a');
    await expect(stage.answer(asked, { action: 'submit', data: { tone: 3 } })).rejects.toMatchObject({
      code: 'invalid_input',
    });
    await stage.answer(asked, { action: 'submit', data: { tone: 'warm' } });
    expect(await stage.ended(jobId)).toMatchObject({ status: 'completed' });
    expect(stage.asked('Draft it.').at(-1)?.at(-1)).toEqual({ role: 'user', content: '{"tone":"warm"}' });
  });
});

describe('agent node with a review of its output', () => {
  it.each([
    ['keeps it when that is approved', { action: 'approve' }, 'Out: First.'],
    ['keeps it when the review is skipped', { action: 'skip' }, 'Out: First.'],
    ['hands on what the reviewer made of it', { action: 'modify', data: 'Mine.' }, 'Out: Mine.'],
  ])('%s', async (_, answer, content) => {
    stage.script('Draft it.', textReply(['First.']));
    const jobId = await stage.run({ ...nodes('review'), no }, withRefusal);
    const asked = (await stage.waitsAt(jobId)).get('a');
    expect(asked?.request).toMatchObject({ mode: 'review', context: { input: 'Hello', output: 'First.' } });
    await stage.answer(asked, answer);
    expect(await stage.ended(jobId)).toMatchObject({ status: 'completed', content });
  });

  it('follows its reject edge with the rejected text', async () => {
    stage.script('Draft it.', textReply(['First.']));
    const jobId = await stage.run({ ...nodes('review'), no }, withRefusal);
    await stage.answer((await stage.waitsAt(jobId)).get('a'), { action: 'reject' });
    expect(await stage.ended(jobId)).toMatchObject({ status: 'completed', content: 'No: First.' });
  });

  it('runs and is reviewed again with its first input without a reject edge', async () => {
    stage.script('Draft it.', textReply(['First.']), textReply(['Second.']));
    const jobId = await stage.run(nodes('review'), straight, { prompt: 'Write.' });
    await stage.answer((await stage.waitsAt(jobId)).get('a'), { action: 'reject' });
    const again = await stage.asks(jobId, 1);
    expect(again[0]?.request).toMatchObject({ context: { input: 'Write.', output: 'Second.' } });
    await stage.waits(jobId);
    await stage.answer(again[0], { action: 'approve' });
    expect(await stage.ended(jobId)).toMatchObject({ status: 'completed', content: 'Out: Second.' });
    const asked = stage.asked('Draft it.').slice(-2);
    expect(asked[1]).toEqual(asked[0]);
    expect((await stage.runsOf(jobId)).filter(({ node }) => node === 'a')).toHaveLength(1);
  });

  it('streams the content of the job once, also after a long review', async () => {
    stage.script('Draft it.', textReply(['The ', 'answer.']));
    const jobId = await stage.run({ a: agent('Draft it.', hitl('review')) }, ['start -> a']);
    await stage.answer((await stage.waitsAt(jobId)).get('a'), { action: 'approve' });
    expect(await stage.ended(jobId)).toMatchObject({ status: 'completed', content: 'The answer.', attempt: 0 });
    expect(await stage.eventsOf(jobId, 'round-restarted')).toEqual([]);
  });
});

describe('concurrent requests of a workflow', () => {
  const both = {
    a: agent('Do A.', hitl('approval')),
    b: agent('Do B.', hitl('approval')),
    out: { ...output, sources: ['a', 'b'] },
  };
  const join = ['start -> a', 'start -> b', 'a -> out', 'b -> out'];

  it.each([
    ['a', 'b'],
    ['b', 'a'],
  ])('accept answers in any order: %s, then %s', async (first, second) => {
    stage.script('Do A.', textReply(['A.']));
    stage.script('Do B.', textReply(['B.']));
    const jobId = await stage.run(both, join);
    const asked = await stage.waitsAt(jobId);
    expect([...asked.keys()].sort()).toEqual(['a', 'b']);
    await stage.answer(asked.get(first), { action: 'approve' });
    // The answered node continues while the other still waits.
    await expectStatus(jobId, first, 'completed');
    expect([...(await stage.waitsAt(jobId)).keys()]).toEqual([second]);
    await stage.answer(asked.get(second), { action: 'approve' });
    expect(await stage.ended(jobId)).toMatchObject({ status: 'completed', content: 'A.\n\nB.' });
    expect(await asks(jobId)).toEqual([{ n: '2' }]);
  });

  it('resume at once although another node still works', async () => {
    const gate = createGate();
    stage.script('Do B.', { ...textReply(['B.']), before: gate });
    stage.script('Do A.', textReply(['A.']));
    const jobId = await stage.run({ ...both, b: agent('Do B.') }, join);
    const [asked] = await stage.asks(jobId, 1);
    await stage.answer(asked, { action: 'approve' });
    await expectStatus(jobId, 'a', 'completed');
    expect(await stage.statusesOf(jobId)).toMatchObject({ b: 'active' });
    expect(await stage.eventsOf(jobId, 'job-waiting')).toEqual([]);
    gate.open();
    expect(await stage.ended(jobId)).toMatchObject({ status: 'completed', content: 'A.\n\nB.' });
    expect(await stage.eventsOf(jobId, 'job-started')).toHaveLength(1);
  });

  it('open once although the job read its answers before it began to wait', async () => {
    const gate = createGate();
    stage.script('Do B.', { ...textReply(['B.']), before: gate });
    const nodes = { a: { type: 'approval', prompt: 'A?' }, b: agent('Do B.'), c: { type: 'approval', prompt: 'C?' } };
    const out = { ...output, sources: ['a', 'b', 'c'] };
    const edges = ['start -> a', 'start -> b', 'start -> c', 'a -> out', 'b -> out', 'c -> out'];
    const asked = stage.requests('Do B.').length;
    const jobId = await stage.run({ ...nodes, out }, edges);
    const [first, second] = await stage.asks(jobId, 2);
    await stage.answer(first, { action: 'modify', data: 'A.' });
    await expectStatus(jobId, 'a', 'completed');
    gate.open();
    expect([...(await stage.waitsAt(jobId)).values()]).toMatchObject([{ id: second?.id }]);
    await stage.answer(second, { action: 'modify', data: 'C.' });
    expect(await stage.ended(jobId)).toMatchObject({ status: 'completed', content: 'A.\n\nB.\n\nC.' });
    expect(stage.requests('Do B.')).toHaveLength(asked + 1);
    expect(await stage.eventsOf(jobId, 'job-started')).toHaveLength(2);
    expect(await asks(jobId)).toEqual([{ n: '2' }]);
  });
});

async function expectStatus(jobId: string, node: string, status: string): Promise<void> {
  await eventually(`${node} is ${status}`, async () =>
    (await stage.statusesOf(jobId))[node] === status ? true : undefined,
  );
}

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
