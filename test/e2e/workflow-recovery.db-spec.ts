import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';

import { eventually } from '../harness/eventually.js';
import { createGate, type Gate, textChunk, textReply, toolCallReply } from '../harness/scripted-reply.js';
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

  it('continues a loop at its pass and decides no pass twice', async () => {
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
