import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';

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
const hitl = (mode: string, more: object = {}) => ({ hitl: { enabled: true, mode, ...more } });
const out = { ...output, template: 'Out: {{input}}' };
const no = { ...output, template: 'No: {{input}}' };
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
