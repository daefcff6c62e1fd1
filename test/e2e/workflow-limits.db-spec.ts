import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';

import { eventually } from '../harness/eventually.js';
import { createGate, textChunk, textReply } from '../harness/scripted-reply.js';
import { agent, openWorkflowStage, type WorkflowStage } from '../harness/workflow-stage.js';

let stage: WorkflowStage;

beforeAll(async () => {
  stage = await openWorkflowStage({ WORKFLOW_PAUSE_MS: '600000' }); // what is at work when its time is over comes to its end
});
afterEach(() => {
  stage.assertPlayed();
});
afterAll(async () => {
  await stage.close();
});

const plus = { type: 'transform', expression: 'text + "+"' };
const limited = (stopPolicy: object) => ({ meta: { execution: { stopPolicy } } });
const open = (jobId: string) => stage.rows(`SELECT 1 FROM interrupt WHERE job_id = $1 AND status = 'open'`, [jobId]);

describe('budget of a workflow run', () => {
  const three = { a: plus, b: plus, c: plus };
  const chain = ['start -> a', 'a -> b', 'b -> c'];

  it('opens a request when the granted node runs are used, and each approval grants as many again', async () => {
    const jobId = await stage.run(three, chain, limited({ maxSteps: 2 }));
    const [first] = await stage.waits(jobId);
    expect(first).toMatchObject({ kind: 'human_input', nodeId: '' });
    expect(first?.request).toMatchObject({
      prompt: 'It has used 2 of 2 steps. May it use 2 steps more?',
      options: [expect.objectContaining({ id: 'continue' }), expect.objectContaining({ id: 'stop' })],
    });
    expect(await stage.statusesOf(jobId)).toEqual({ start: 'completed', a: 'completed' });
    await stage.answer(first, { action: 'approve' });
    expect(await stage.ended(jobId)).toMatchObject({ status: 'completed', content: 'Hello+++' });
    expect((await stage.runsOf(jobId)).map(({ node }) => node)).toEqual(['start', 'a', 'b', 'c']);
    expect(await stage.rows('SELECT status FROM interrupt WHERE job_id = $1', [jobId])).toEqual([
      { status: 'resolved' },
    ]);
  });

  it('fails a run when the request is rejected', async () => {
    const jobId = await stage.run(three, chain, limited({ maxSteps: 2 }));
    await stage.answer((await stage.waits(jobId))[0], { action: 'reject' });
    expect(await stage.ended(jobId)).toMatchObject({ status: 'failed', error: { code: 'budget_exceeded' } });
  });

  it('fails a run when the request expires', async () => {
    const jobId = await stage.run(three, chain, limited({ maxSteps: 2 }));
    await stage.waits(jobId);
    await stage.expire(jobId);
    await stage.timers();
    expect(await stage.ended(jobId)).toMatchObject({ status: 'failed', error: { code: 'budget_exceeded' } });
  });

  it('counts tokens, and opens another request when the granted ones are used too', async () => {
    const words = ['One.', 'Two.', 'Three.'];
    for (const word of words) stage.script(`Say ${word}`, textReply([word])); // 18 tokens each
    const nodes = Object.fromEntries(words.map((word, i) => [`n${i}`, agent(`Say ${word}`)]));
    const jobId = await stage.run(nodes, ['start -> n0', 'n0 -> n1', 'n1 -> n2'], limited({ maxTokens: 10 }));
    const [first] = await stage.waits(jobId);
    expect(first?.request).toMatchObject({ prompt: 'It has used 18 of 10 tokens. May it use 10 tokens more?' });
    await stage.answer(first, { action: 'approve' });
    const second = await eventually('it asks again', async () =>
      (await stage.waits(jobId)).find(({ id }) => id !== first?.id),
    );
    expect(await stage.statusesOf(jobId)).toEqual({ start: 'completed', n0: 'completed', n1: 'completed' });
    await stage.answer(second, { action: 'approve' });
    expect(await stage.ended(jobId)).toMatchObject({ status: 'completed', content: 'Three.' });
  });

  it('opens no request when the run is complete', async () => {
    stage.script('Say it.', textReply(['It.']));
    const jobId = await stage.run({ a: agent('Say it.') }, ['start -> a'], limited({ maxTokens: 1 }));
    expect(await stage.ended(jobId)).toMatchObject({ status: 'completed', content: 'It.' });
    expect(await open(jobId)).toEqual([]);
  });

  it('counts working time, and starts no node after it', async () => {
    stage.script('Take your time.', textReply(['Done.'], { delayMs: 60 }));
    const nodes = { a: agent('Take your time.'), b: plus };
    const jobId = await stage.run(nodes, ['start -> a', 'a -> b'], limited({ maxDurationMs: 50 }));
    const asked = await stage.waitsAfter('Take your time.', jobId);
    expect(asked?.request).toMatchObject({ prompt: expect.stringMatching(/^It has used \d+ of \d+ ms of work\. /) });
    await stage.answer(asked, { action: 'reject' });
    expect(await stage.ended(jobId)).toMatchObject({ status: 'failed', error: { code: 'budget_exceeded' } });
    expect(await stage.statusesOf(jobId)).toEqual({ start: 'completed', a: 'completed' });
  });
});

describe('cancelled workflow job', () => {
  it('aborts its model calls and keeps its streamed text while it works', async () => {
    const gate = createGate();
    stage.script('Write a lot.', { body: [textChunk('So far'), gate], end: 'hang' });
    const jobId = await stage.run({ a: agent('Write a lot.') }, ['start -> a']);
    await eventually('something is shown', async () => {
      const [shown] = await stage.eventsOf(jobId, 'text-delta');
      return shown;
    });
    expect(await stage.stop(jobId)).toBe('aborted');
    const request = stage.requests('Write a lot.').at(-1);
    await request?.settled;
    expect(request?.aborted).toBe(true);
    expect(await stage.ended(jobId)).toMatchObject({ status: 'cancelled', content: 'So far' });
    expect(await stage.statusesOf(jobId)).toEqual({ start: 'completed', a: 'cancelled' });
  });

  it('closes its requests while it waits', async () => {
    const nodes = { ok: { type: 'approval', prompt: 'Ok?' }, b: plus };
    const jobId = await stage.run(nodes, ['start -> ok', 'ok -> b']);
    const asked = (await stage.waitsAt(jobId)).get('ok');
    expect(await stage.stop(jobId)).toBe('aborted');
    expect(await stage.ended(jobId)).toMatchObject({ status: 'cancelled' });
    expect(await open(jobId)).toEqual([]);
    await expect(stage.answer(asked, { action: 'approve' })).rejects.toMatchObject({ code: 'already_answered' });
  });

  it('closes everything while one node waits and another works', async () => {
    stage.script('Never end.', { body: [], end: 'hang' });
    const nodes = { ok: { type: 'approval', prompt: 'Ok?' }, a: agent('Never end.') };
    const jobId = await stage.run(nodes, ['start -> ok', 'start -> a']);
    await stage.asks(jobId, 1);
    await eventually('the other one works', () => stage.requests('Never end.')[0]);
    expect(await stage.stop(jobId)).toBe('aborted');
    expect(await open(jobId)).toEqual([]);
    expect(await stage.statusesOf(jobId)).toEqual({ start: 'completed', ok: 'cancelled', a: 'cancelled' });
    expect((await stage.eventsOf(jobId)).at(-1)?.type).toBe('job-finished');
  });
});
