import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';

import { eventually } from '../harness/eventually.js';
import { textChunk, textReply, toolCallReply } from '../harness/scripted-reply.js';
import { agent, openWorkflowStage, type WorkflowStage } from '../harness/workflow-stage.js';

let stage: WorkflowStage;

beforeAll(async () => {
  stage = await openWorkflowStage({ WORKFLOW_PAUSE_MS: '100' });
});
afterEach(() => {
  stage.assertPlayed();
});
afterAll(async () => {
  await stage.close();
});

const within = (maxDurationMs: number) => ({ meta: { execution: { stopPolicy: { maxDurationMs } } } });
/** Lets it come to its end; on a slow machine it asks for still more. */
const grantAll = async (jobId: string) => {
  const rest = () =>
    eventually('it waits or has ended', async () => {
      const [job] = await stage.rows<{ status: string }>('SELECT status FROM job WHERE id = $1', [jobId]);
      return ['queued', 'running'].includes(job?.status ?? '') ? undefined : job?.status;
    });
  while ((await rest()) === 'waiting') await stage.answer((await stage.waits(jobId))[0], { action: 'approve' });
};
const states = { start: 'completed', a: 'active' };

describe('time budget of a workflow with a working node', () => {
  it('opens a request although the node never ends', async () => {
    stage.script('Hang.', { body: [textChunk('So far')], end: 'hang' });
    const jobId = await stage.run({ a: agent('Hang.') }, ['start -> a'], within(500));
    const asked = await stage.waitsAfter('Hang.', jobId);
    expect(asked?.request).toMatchObject({ prompt: expect.stringMatching(/^It has used \d+ of \d+ ms of work\. /) });
    expect(await stage.statusesOf(jobId)).toEqual(states);
    const request = stage.requests('Hang.').at(-1);
    await request?.settled;
    expect(request?.aborted).toBe(true);
    await stage.answer(asked, { action: 'reject' });
    expect(await stage.ended(jobId)).toMatchObject({ status: 'failed', error: { code: 'budget_exceeded' } });
  });

  it('completes after more time is granted', async () => {
    stage.script('Hang once.', { body: [], end: 'hang' });
    const jobId = await stage.run({ a: agent('Hang once.') }, ['start -> a'], within(500));
    const asked = await stage.waitsAfter('Hang once.', jobId);
    stage.model.answer(({ body }) => (body.includes('Hang once.') ? textReply(['Done.']) : undefined));
    await stage.answer(asked, { action: 'approve' });
    await grantAll(jobId);
    expect(await stage.ended(jobId)).toMatchObject({ status: 'completed', content: 'Done.' });
  });
});

describe('time budget of a workflow at the end of a round', () => {
  let patient: WorkflowStage;

  beforeAll(async () => {
    patient = await openWorkflowStage({ WORKFLOW_PAUSE_MS: '60000' });
  });
  afterAll(async () => {
    patient.assertPlayed();
    await patient.close();
  });

  it('lets the round commit and starts no other', async () => {
    const call = toolCallReply([{ id: 'c1', name: 'look_up', arguments: '{"to":"Bob"}' }]);
    patient.script('Look.', { ...call, body: [{ delayMs: 500 }, ...call.body] });
    const jobId = await patient.run({ a: agent('Look.', { tools: ['look_up'] }) }, ['start -> a'], within(450));
    const asked = await patient.waitsAfter('Look.', jobId);
    expect(await patient.rows('SELECT status FROM tool_call WHERE job_id = $1', [jobId])).toEqual([
      { status: 'completed' },
    ]);
    expect(await patient.statusesOf(jobId)).toEqual(states);
    await patient.answer(asked, { action: 'reject' });
    expect(await patient.ended(jobId)).toMatchObject({ status: 'failed', error: { code: 'budget_exceeded' } });
  });
});
