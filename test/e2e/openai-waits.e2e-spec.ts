import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';

import { ApprovalPoliciesService } from '#approvals';
import { AgentsService } from '#chat';
import { InterruptTimers } from '#jobs';
import { newId } from '#platform';
import { WorkflowsService } from '#workflows';

import type { TestMember } from '../harness/api.js';
import { eventually } from '../harness/eventually.js';
import {
  type CompletionReply,
  type CompletionsClient,
  completionsClient,
  contentOf,
  type OpenCompletion,
} from '../harness/openai-client.js';
import {
  ask,
  called,
  type OpenAiStage,
  openAiStage,
  plain,
  result,
  user,
  weather,
  withTools,
} from '../harness/openai-stage.js';
import { createGate, errorReply, textReply, toolCallReply } from '../harness/scripted-reply.js';
import { agent } from '../harness/workflow-stage.js';
import { publish, sketch } from '../harness/workflows.js';

let stage: OpenAiStage;

beforeAll(async () => {
  stage = await openAiStage();
});
afterEach(() => stage.assertQuiet());
afterAll(() => stage.close());

const sum = { id: 'sum', name: 'add_numbers', arguments: '{"a":1,"b":2}' };

async function waitsFor(open: OpenCompletion): Promise<string> {
  await open.until(': waiting approval ');
  return /^: waiting approval (\S+)$/m.exec(open.raw())?.[1] ?? '';
}

async function decide(id: string, decision: 'approve' | 'deny', { key } = stage.owner): Promise<void> {
  const asked = await stage.test.call('GET', `/api/interrupts/${id}`, { key });
  const { argumentsHash } = (asked.body as { request: { argumentsHash: string } }).request;
  const reply = await stage.test.call('POST', `/api/interrupts/${id}/decision`, {
    key,
    body: { decision, argumentsHash },
  });
  expect(reply).toMatchObject({ status: 200 });
}

describe('waiting /v1 responses', () => {
  beforeAll(async () => {
    const policy = { rules: ['add_numbers', 'send_report'].map((match) => ({ match, action: 'require_approval' })) };
    await stage.test.api.app
      .get(ApprovalPoliciesService)
      .save(stage.owner.principal, { policy, expectedVersion: null });
  });

  const contentOfWhole = ({ json }: CompletionReply) =>
    (json as { choices?: [{ message: { content: string } }] }).choices?.[0].message.content;

  describe('/v1 response that waits for a person', () => {
    it('sends a comment while it waits, and continues after the decision', async () => {
      stage.model.enqueue(toolCallReply([sum]), textReply(['3']));
      const open = stage.client.open(plain('add', { stream: true }));
      const id = await waitsFor(open);
      await decide(id, 'approve');
      const { text } = await open.over;
      expect(contentOf(text)).toBe(
        '<tool id="1" state="start">add_numbers(a=1, b=2)</tool>\n<tool id="1" state="done">add_numbers(a=1, b=2)\n3</tool>\n3',
      );
    });

    it('waits for people before it returns client calls, approved or not', async () => {
      for (const decision of ['approve', 'deny'] as const) {
        const id = `with-${decision}`;
        stage.model.enqueue(toolCallReply([ask(id, 'Rome'), { ...sum, id: `sum-${decision}` }]));
        const open = stage.client.open(withTools([user('hi')], { stream: true }));
        await decide(await waitsFor(open), decision);
        const { text } = await open.over;
        expect(text).toContain(`"id":"${id}"`);
        expect(text).toContain('"finish_reason":"tool_calls"');
        stage.model.enqueue(textReply(['done']));
        const next = await stage.client.ask(withTools([user('hi'), called(ask(id, 'Rome')), result(id, '30')]));
        expect(contentOfWhole(next)).toBe('done');
      }
    });

    it('waits for a person before it sends a call whose schema the server cannot compile', async () => {
      const parameters = { properties: { city: { type: 'town', pattern: '(?<=x)(' } } };
      const odd = { type: 'function', function: { name: 'send_report', parameters } };
      const call = { id: 'odd', name: 'send_report', arguments: '{"city":"Rome"}' };
      stage.model.enqueue(toolCallReply([call]));
      const open = stage.client.open(withTools([user('hi')], { stream: true, tools: [odd] }));
      await decide(await waitsFor(open), 'approve');
      expect((await open.over).text).toContain('"finish_reason":"tool_calls"');
    });

    it('fails with OPENAI_HUMAN_WAIT=reject, and its job is cancelled', async () => {
      const { client } = await stage.another({ OPENAI_HUMAN_WAIT: 'reject' });
      const message = 'x-tool-event-format=openai cannot pause for human approval or input';
      for (const stream of [true, false]) {
        stage.model.enqueue(toolCallReply([sum]));
        const reply = await client.ask(withTools([user('hi')], { stream }));
        expect([reply.status, reply.json]).toEqual([
          400,
          { error: { message, type: 'invalid_request_error', param: null, code: null } },
        ]);
        const jobId = String(reply.headers['x-job-id']);
        const { body } = await stage.test.call('GET', `/api/jobs/${jobId}/status`, { key: stage.owner.key });
        expect(body).toMatchObject({ status: 'aborted' });
      }
      stage.model.enqueue(toolCallReply([sum], { text: 'I add.' }));
      const open = client.open(withTools([user('hi')], { stream: true }));
      const { text } = await open.over;
      if (text.startsWith('data:')) expect(text).toContain(`[error] ${message}`);
      else expect(text).toContain(message);
    });
  });

  describe('/v1 stream of a revoked key', () => {
    it('ends while the job keeps running', async () => {
      const { key, keyId } = await stage.test.people.keyOf(stage.owner.principal, ['read', 'write']);
      const gate = createGate();
      const { body } = textReply(['One, ', 'two.']);
      stage.model.enqueue({ body: [...body.slice(0, 2), gate, ...body.slice(2)] });
      const open = completionsClient(stage.test.url, key).open(plain('count', { stream: true }));
      await open.until('One, ');
      const jobId = String((await open.begun).headers['x-job-id']);
      await stage.test.auth.apiKeys.revoke(stage.owner.principal, keyId);
      const { complete } = await open.over;
      expect(complete).toBe(false);
      gate.open();
      await eventually('the job has ended', async () => {
        const reply = await stage.test.call('GET', `/api/jobs/${jobId}/status`, { key: stage.owner.key });
        return (reply.body as { status: string }).status === 'complete' ? true : undefined;
      });
      expect((await completionsClient(stage.test.url, key).ask(plain('hi'))).status).toBe(401);
    });
  });

  describe('/v1 stream of a slow reader', () => {
    it('waits for the reader and delivers everything', async () => {
      const piece = 'x'.repeat(8_192);
      const pieces = Array.from({ length: 200 }, () => piece);
      stage.model.enqueue(textReply(pieces));
      const { client } = await stage.another({ SLOW_VIEWER_BYTES: '65536' });
      const open = client.open(plain('a lot', { stream: true }));
      await open.until('data: ');
      open.pause();
      const jobId = String((await open.begun).headers['x-job-id']);
      await eventually('the job has ended', async () => {
        const reply = await stage.test.call('GET', `/api/jobs/${jobId}/status`, { key: stage.owner.key });
        return (reply.body as { status: string }).status === 'complete' ? true : undefined;
      });
      open.resume();
      const { text } = await open.over;
      expect(contentOf(text).length).toBe(pieces.length * piece.length);
      expect(text.endsWith('data: [DONE]\n\n')).toBe(true);
    });
  });

  describe('/v1 streams of a stopping server', () => {
    it('close before the end of the response, and another server sends the rest', async () => {
      const gate = createGate();
      const { body } = textReply(['One, ', 'two.']);
      const { test, client } = await stage.another({});
      stage.model.enqueue({ body: [...body.slice(0, 2), gate, ...body.slice(2)] });
      const headers = { 'idempotency-key': 'stopped' };
      const open = client.open(plain('count', { stream: true }), headers);
      await open.until('One, ');
      const closing = test.close();
      expect((await open.over).complete).toBe(false);
      const again = stage.client.open(plain('count', { stream: true }), headers);
      gate.open();
      expect(contentOf((await again.over).text)).toContain('two.');
      await closing;
    });
  });

  describe('/v1 response during a provider outage', () => {
    it('streams comments while the job waits, and continues after a decision to retry', async () => {
      const other = await stage.another({ ON_PROVIDER_DOWN: 'wait', MODEL_RETRY_FOR_MS: '600000' });
      stage.model.enqueue(errorReply(503, undefined, { 'retry-after': '3600' }), textReply(['Back.']));
      const open = other.client.open(plain('hello', { stream: true }));
      const { key } = stage.owner;
      const id = await eventually('the job waits', async () => {
        const { body } = await other.test.call('GET', '/api/interrupts?kind=provider_unavailable', { key });
        return (body as { interrupts: { id: string }[] }).interrupts[0]?.id;
      });
      expect(open.raw()).not.toContain('"error"');
      const decided = await other.test.call('POST', `/api/interrupts/${id}/decision`, {
        key,
        body: { decision: 'retry' },
      });
      expect(decided).toMatchObject({ status: 200, body: { outcome: 'retry' } });
      const { text } = await open.over;
      expect(contentOf(text)).toBe('Back.');
    });
  });
});

describe('/v1 responses with sub-jobs', () => {
  let owner: TestMember;
  let client: CompletionsClient;
  let patient: Awaited<ReturnType<OpenAiStage['another']>>;
  let strict: Awaited<ReturnType<OpenAiStage['another']>>;

  const review = { id: 'review', name: 'workflow.review', arguments: '{"input":"the draft"}' };

  const asked = (text: string, more: object = {}) => ({
    model: 'editor',
    messages: [user(text)],
    stream: true,
    ...more,
  });

  const refusal = 'x-tool-event-format=openai cannot pause for human approval or input';

  beforeAll(async () => {
    ({ owner, client } = await stage.tenant('sub-jobs'));
    patient = await stage.another({}, owner);
    strict = await stage.another({ OPENAI_HUMAN_WAIT: 'reject' }, owner);
    const { app } = stage.test.api;
    const { principal } = owner;
    const policy = { rules: [{ match: 'add_numbers', action: 'require_approval' }] };
    await app.get(ApprovalPoliciesService).save(principal, { policy, expectedVersion: null });
    const reviewer = agent('Review it.', { tools: ['add_numbers'] });
    const { id } = await publish({ app }, principal, sketch({ a: reviewer }, ['start -> a'], { name: 'Review' }));
    await app.get(WorkflowsService).offerAsTool(principal, id, true);
    await app.get(AgentsService).create(principal, { name: 'Editor', tools: ['workflow.review'] });
  });

  async function jobIdOf(open: OpenCompletion): Promise<string> {
    return String((await open.begun).headers['x-job-id']);
  }

  const rows = async <Row extends object>(text: string, values: readonly unknown[]) =>
    (await stage.test.platform.postgres.workerPool.query<Row>(text, [...values])).rows;

  describe('/v1 stream with a question of a sub-job', () => {
    it('shows the question in the stream of its caller, also to a later viewer in any process', async () => {
      const headers = { 'idempotency-key': newId() };
      stage.model.enqueue(
        toolCallReply([review]),
        toolCallReply([sum]),
        textReply(['Reviewed.']),
        textReply(['Done.']),
      );
      const open = client.open(asked('review'), headers);
      const id = await waitsFor(open);
      const [child] = await rows<{ root: string; job: string }>(
        'SELECT root_job_id AS root, job_id AS job FROM interrupt WHERE id = $1',
        [id],
      );
      expect(child?.root).toBe(await jobIdOf(open));
      expect(child?.job).not.toBe(child?.root);
      const again = patient.client.open(asked('review'), headers);
      expect(await waitsFor(again)).toBe(id);
      await decide(id, 'approve', owner);
      for (const { text } of await Promise.all([open.over, again.over])) {
        expect(contentOf(text)).toMatch(/<tool id="1" state="done">[^]*Reviewed\.<\/tool>\nDone\.$/);
      }
    });
  });

  describe('/v1 without waiting for people', () => {
    const body = asked('review', { tools: [weather] });

    it("cancels the caller's job when a sub-job needs a person, and returns the reason to each viewer", async () => {
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
      const again = await client.ask({ ...body, stream: false }, headers);
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
        const [job] = await rows(`SELECT 1 FROM openai_answer WHERE idempotency_key = $1`, [
          headers['idempotency-key'],
        ]);
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
});
