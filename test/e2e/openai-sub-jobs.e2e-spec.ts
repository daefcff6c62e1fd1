import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';

import { ApprovalPoliciesService } from '#approvals';
import { AgentsService } from '#chat';
import { InterruptTimers } from '#jobs';
import { newId } from '#platform';
import { WorkflowsService } from '#workflows';

import { eventually } from '../harness/eventually.js';
import { contentOf, type OpenCompletion } from '../harness/openai-client.js';
import { type OpenAiStage, openAiStage, user, weather } from '../harness/openai-stage.js';
import { textReply, toolCallReply } from '../harness/scripted-reply.js';
import { agent } from '../harness/workflow-stage.js';
import { publish, sketch } from '../harness/workflows.js';

let stage: OpenAiStage;
let patient: Awaited<ReturnType<OpenAiStage['another']>>;
let strict: Awaited<ReturnType<OpenAiStage['another']>>;

const review = { id: 'review', name: 'workflow.review', arguments: '{"input":"the draft"}' };
const sum = { id: 'sum', name: 'add_numbers', arguments: '{"a":1,"b":2}' };
const asked = (text: string, more: object = {}) => ({ model: 'editor', messages: [user(text)], stream: true, ...more });
const refusal = 'x-tool-event-format=openai cannot pause for human approval or input';

beforeAll(async () => {
  stage = await openAiStage();
  patient = await stage.another();
  strict = await stage.another({ OPENAI_HUMAN_WAIT: 'reject' });
  const { app } = stage.test.api;
  const { principal } = stage.owner;
  const policy = { rules: [{ match: 'add_numbers', action: 'require_approval' }] };
  await app.get(ApprovalPoliciesService).save(principal, { policy, expectedVersion: null });
  const reviewer = agent('Review it.', { tools: ['add_numbers'] });
  const { id } = await publish({ app }, principal, sketch({ a: reviewer }, ['start -> a'], { name: 'Review' }));
  await app.get(WorkflowsService).offerAsTool(principal, id, true);
  await app.get(AgentsService).create(principal, { name: 'Editor', tools: ['workflow.review'] });
});
afterEach(() => stage.assertQuiet());
afterAll(() => stage.close());

async function waitsFor(open: OpenCompletion): Promise<string> {
  await open.until(': waiting approval ');
  return /^: waiting approval (\S+)$/m.exec(open.raw())?.[1] ?? '';
}
async function approve(id: string): Promise<void> {
  const { key } = stage.owner;
  const { body } = await stage.test.call('GET', `/api/interrupts/${id}`, { key });
  const { argumentsHash } = (body as { request: { argumentsHash: string } }).request;
  const reply = await stage.test.call('POST', `/api/interrupts/${id}/decision`, {
    key,
    body: { decision: 'approve', argumentsHash },
  });
  expect(reply).toMatchObject({ status: 200 });
}
async function jobIdOf(open: OpenCompletion): Promise<string> {
  return String((await open.begun).headers['x-job-id']);
}
const rows = async <Row extends object>(text: string, values: readonly unknown[]) =>
  (await stage.test.platform.postgres.engine.query<Row>(text, [...values])).rows;

describe('/v1 stream with a question of a sub-job', () => {
  it('shows the question in the stream of its caller, also to a later viewer in any process', async () => {
    const headers = { 'idempotency-key': newId() };
    stage.model.enqueue(toolCallReply([review]), toolCallReply([sum]), textReply(['Reviewed.']), textReply(['Done.']));
    const open = stage.client.open(asked('review'), headers);
    const id = await waitsFor(open);
    const [below] = await rows<{ root: string; job: string }>(
      'SELECT root_job_id AS root, job_id AS job FROM interrupt WHERE id = $1',
      [id],
    );
    expect(below?.root).toBe(await jobIdOf(open));
    expect(below?.job).not.toBe(below?.root);
    const again = patient.client.open(asked('review'), headers);
    expect(await waitsFor(again)).toBe(id);
    await approve(id);
    for (const { text } of await Promise.all([open.over, again.over])) {
      expect(contentOf(text)).toMatch(/<tool id="1" state="done">[^]*Reviewed\.<\/tool>\nDone\.$/);
    }
  });
});

describe('/v1 without waiting for people', () => {
  const body = asked('review', { tools: [weather] });

  it('cancels the job of the caller for a request of a sub-job, and returns the reason to each viewer', async () => {
    const headers = { 'idempotency-key': newId() };
    stage.model.enqueue(toolCallReply([review]), toolCallReply([sum]));
    const open = strict.client.open(body, headers);
    const { text } = await open.over;
    expect(text).toContain(refusal);
    expect(text).not.toContain('waiting approval');
    const jobId = await jobIdOf(open);
    const lines = await eventually('both jobs have ended', async () => {
      const all = await rows<{ status: string; reason: string }>(
        'SELECT status, reason FROM job WHERE id = $1 OR root_job_id = $1 ORDER BY depth',
        [jobId],
      );
      return all.every(({ status }) => status === 'cancelled') ? all : undefined;
    });
    expect(lines).toEqual([
      { status: 'cancelled', reason: 'human_wait' },
      { status: 'cancelled', reason: 'parent_stopped' },
    ]);
    // The setting belongs to the job: a process with another setting returns the same.
    const again = await stage.client.ask({ ...body, stream: false }, headers);
    expect([again.status, again.json]).toMatchObject([400, { error: { message: refusal, code: null } }]);
  });

  it('cancels the job of the caller also without a viewer', async () => {
    const headers = { 'idempotency-key': newId() };
    const gone = { tools: [weather], model: 'helper', messages: [user('add')] };
    stage.model.enqueue(toolCallReply([sum]));
    // No process looks by itself, and the one who has asked leaves at once.
    for (const { test } of [strict, patient, { test: stage.test }])
      await test.api.app.get(InterruptTimers, { strict: false }).stop();
    const left = strict.client.open({ ...gone, stream: true }, headers);
    await eventually('the job is there', async () => {
      const [job] = await rows(`SELECT 1 FROM openai_answer WHERE idempotency_key = $1`, [headers['idempotency-key']]);
      return job;
    });
    left.leave();
    const opened = await eventually('a person is asked', async () => {
      const sql = `SELECT i.refused FROM interrupt i JOIN openai_answer a ON a.job_id = i.job_id WHERE a.idempotency_key = $1`;
      return (await rows(sql, [headers['idempotency-key']]))[0];
    });
    expect(opened).toEqual({ refused: true });
    await patient.test.api.app.get(InterruptTimers, { strict: false }).sweep();
    const again = await patient.client.ask(gone, headers);
    expect([again.status, again.json]).toMatchObject([400, { error: { message: refusal } }]);
  });
});
