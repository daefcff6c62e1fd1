import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { INestApplicationContext } from '@nestjs/common';

import type { MemberPrincipal, Role } from '#auth';
import { InterruptTimers } from '#jobs';
import { AppError, newId } from '#platform';
import type { JsonSchema } from '#tools';

import { createTestDatabase, type TestDatabase } from '../../../../test/harness/database.js';
import { startTestEngine, type TestEngine } from '../../../../test/harness/engine.js';
import { openTestIdentities, type TestIdentities } from '../../../../test/harness/identities.js';
import { layOutWaitingJob, openInterrupt } from '../../../../test/harness/interrupts.js';
import { humanInputInterrupt } from './human-input-interrupt.js';
import { InterruptsService } from './interrupts.service.js';

let database: TestDatabase;
let identities: TestIdentities;
let engine: TestEngine;
let app: INestApplicationContext;
let here: Record<Role, MemberPrincipal>;

beforeAll(async () => {
  database = await createTestDatabase();
  identities = openTestIdentities(database);
  engine = await startTestEngine(database, { LOG_LEVEL: 'silent' }, false);
  app = engine.app;
  here = await identities.workspaceOf('here');
  await sql(`UPDATE workspace SET max_jobs = 1000, max_jobs_per_user = 1000 WHERE id = $1`, [here.owner.workspaceId]);
});

afterAll(async () => {
  await engine.close();
  identities.auth.close();
  await database.close();
});

async function sql(text: string, values: readonly unknown[]): Promise<Record<string, unknown>[]> {
  return database.postgres.withWorkspaceSql(here.owner.workspaceId, async (client) => {
    const { rows } = await client.query<Record<string, unknown>>(text, [...values]);
    return rows;
  });
}

const form: JsonSchema = {
  type: 'object',
  properties: { colour: { enum: ['red', 'blue'] } },
  required: ['colour'],
  additionalProperties: false,
};

/** A member's job whose call asks a question. */
async function ask(inputSchema: JsonSchema = form, options: { readonly timeoutMs?: number } = {}) {
  const job = await layOutWaitingJob(app, here.member);
  const { toolCallId, threadId, createdBy } = job;
  const id = newId();
  const call = { toolCallId, callId: 'call_1', name: 'ask_person' };
  const asked = humanInputInterrupt({
    ...{ id, job: { threadId, createdBy }, call, question: 'Which colour?', inputSchema },
    ...options,
  });
  await openInterrupt(app, job, asked);
  const answer = (body: object, principal = here.member) => app.get(InterruptsService).decide(principal, id, body);
  return { job, id, answer };
}

async function refusal(asked: Promise<unknown>): Promise<unknown> {
  try {
    return await asked;
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    return [error.code, error.message, error.details];
  }
}

/** The code alone. */
async function codeOf(asked: Promise<unknown>): Promise<unknown> {
  const refused = await refusal(asked);
  return Array.isArray(refused) ? refused[0] : refused;
}

/** A summary of the call, the job and the events that viewers received since the question. */
async function stateOf(jobId: string): Promise<unknown> {
  const [call] = await sql(
    `SELECT c.status, c.result, c.error->>'message' AS error, c.decided_by AS by, j.status AS job
       FROM tool_call c JOIN job j ON j.id = c.job_id WHERE c.job_id = $1`,
    [jobId],
  );
  const events = await sql(
    `SELECT type, coalesce(body->>'outcome', body->>'internalStatus', body->>'reason', body->>'kind') AS what
       FROM job_event WHERE job_id = $1 AND type <> 'warning' AND seq > 2 ORDER BY seq`,
    [jobId],
  );
  return { ...call, events: events.map(({ type, what }) => `${String(type)} ${String(what)}`) };
}

describe('a question to a person', () => {
  it('settles its call with the data of its first valid answer', async () => {
    const { job, id, answer } = await ask();
    expect(await answer({ action: 'submit', data: { colour: 'red' } })).toMatchObject({
      id,
      status: 'resolved',
      outcome: { outcome: 'submit' },
      decidedBy: here.member.id,
    });
    expect(await stateOf(job.jobId)).toMatchObject({
      status: 'completed',
      result: '{"colour":"red"}',
      error: null,
      by: here.member.id,
      job: 'queued',
      events: [
        'interrupt-opened human_input',
        'tool-call-updated completed',
        'interrupt-resolved submit',
        'job-requeued nothing is open any more',
      ],
    });
    const [audit] = await sql(`SELECT actor, action FROM audit_entry WHERE subject_id = $1`, [id]);
    expect(audit).toEqual({ actor: here.member.id, action: 'human_input.submit' });
  });

  it('stays open until its data match the form, and reports what does not match', async () => {
    const { job, answer } = await ask();
    expect(await refusal(answer({ action: 'submit', data: { colour: 'green' } }))).toEqual([
      'invalid_input',
      'The data does not match the form. See issues.',
      { issues: [expect.stringContaining('colour')] },
    ]);
    expect(await refusal(answer({ action: 'submit' }))).toEqual(['bad_request', 'Missing data', {}]);
    expect(await refusal(answer({}))).toEqual(['bad_request', 'Missing action', {}]);
    for (const action of ['jump', 'modify'])
      expect(await refusal(answer({ action, data: { colour: 'red' } }))).toEqual([
        'bad_request',
        'Invalid action',
        { issues: ['action must be one of submit, skip, reject'] },
      ]);
    expect(await stateOf(job.jobId)).toMatchObject({ job: 'waiting', events: ['interrupt-opened human_input'] });
  });

  it('takes a text answer unchanged', async () => {
    const { job, answer } = await ask({ type: 'string', minLength: 1 });
    expect(await codeOf(answer({ action: 'submit', data: '' }))).toBe('invalid_input');
    await answer({ action: 'submit', data: 'Blue, "please"' });
    expect(await stateOf(job.jobId)).toMatchObject({ result: 'Blue, "please"' });
  });

  it.each([
    [{ action: 'skip' }, { status: 'skipped', error: 'The person skipped this question' }],
    [
      { action: 'reject', reason: 'None of\nyours' },
      { status: 'denied', error: 'Tool execution rejected by user: None of yours' },
    ],
  ])('can be answered without a result: %j', async (body, call) => {
    const { job, answer } = await ask();
    expect(await answer(body)).toMatchObject({ outcome: { outcome: body.action } });
    expect(await stateOf(job.jobId)).toMatchObject({ ...call, result: null, job: 'queued' });
  });

  it('returns the same outcome for a repeated answer, and a conflict with the first for another', async () => {
    const { job, answer } = await ask();
    const red = { action: 'submit', data: { colour: 'red' } };
    const first = await answer(red);
    const before = await stateOf(job.jobId);
    expect(await answer(red)).toEqual(first);
    for (const other of [{ ...red, data: { colour: 'blue' } }, { action: 'skip' }]) {
      expect(await refusal(answer(other))).toEqual([
        'already_answered',
        'Request already answered',
        { status: 'resolved', outcome: 'submit' },
      ]);
    }
    expect(await stateOf(job.jobId)).toEqual(before);
  });

  it('accepts one of twenty concurrent answers', async () => {
    const { job, answer } = await ask({ type: 'integer' });
    const answers = Array.from({ length: 20 }, (_, data) => codeOf(answer({ action: 'submit', data: data % 4 })));
    const settled = await Promise.all(answers);
    const { result } = (await stateOf(job.jobId)) as { result: string };
    settled.forEach((outcome, i) => {
      if (String(i % 4) === result) expect(outcome).toMatchObject({ status: 'resolved' });
      else expect(outcome).toBe('already_answered');
    });
    const [resolved] = await sql(
      `SELECT count(*)::int AS n FROM job_event WHERE job_id = $1 AND type = 'interrupt-resolved'`,
      [job.jobId],
    );
    expect(resolved).toEqual({ n: 1 });
  });

  it('lets only the requester answer, shows the question to readers of the job, and hides it from others', async () => {
    const { job, id, answer } = await ask();
    const body = { action: 'skip' };
    for (const other of [here.owner, here.admin, here.viewer]) {
      expect(await refusal(answer(body, other))).toEqual(['cannot_decide', 'You cannot decide this request', {}]);
    }
    const { owner: stranger } = await identities.workspaceOf(`elsewhere-${newId()}`);
    expect(await refusal(answer(body, stranger))).toEqual(['not_found', 'Request not found', {}]);
    expect(await codeOf(app.get(InterruptsService).decide(here.member, 'nonsense', body))).toBe('not_found');
    expect(await stateOf(job.jobId)).toMatchObject({ job: 'waiting' });
    expect(await app.get(InterruptsService).find(here.viewer, id)).toMatchObject({ status: 'open' });
  });

  it('denies its call when it expires, and then accepts no answer', async () => {
    const { job, id, answer } = await ask();
    await sql(`UPDATE interrupt SET expires_at = clock_timestamp() - interval '1 s' WHERE id = $1`, [id]);
    expect(await refusal(answer({ action: 'skip' }))).toEqual(['expired', 'Request expired', {}]);
    await app.get(InterruptTimers).sweep();
    expect(await refusal(answer({ action: 'skip' }))).toEqual(['expired', 'Request expired', {}]);
    expect(await app.get(InterruptsService).find(here.member, id)).toMatchObject({
      status: 'expired',
      outcome: { outcome: 'reject' },
      decidedBy: null,
    });
    expect(await stateOf(job.jobId)).toMatchObject({
      status: 'denied',
      error: 'No person answered this question in time',
      job: 'queued',
    });
  });

  it('rejects an answer for a job that may not wait for people, before the job is cancelled', async () => {
    const { job, id, answer } = await ask();
    await sql('UPDATE interrupt SET refused = true WHERE id = $1', [id]);
    const cancelled = ['already_answered', 'Request already answered', { status: 'cancelled', outcome: 'cancelled' }];
    expect(await refusal(answer({ action: 'skip' }))).toEqual(cancelled);
    await sql(`UPDATE interrupt SET expires_at = clock_timestamp() - interval '1 s' WHERE id = $1`, [id]);
    await app.get(InterruptTimers).sweep();
    expect(await app.get(InterruptsService).find(here.member, id)).toMatchObject({ status: 'cancelled' });
    expect(await stateOf(job.jobId)).toMatchObject({ job: 'cancelled' });
  });

  it('lets the job continue only when nothing else is open', async () => {
    const { job, answer } = await ask();
    const other = await openInterrupt(app, job);
    await answer({ action: 'skip' });
    expect(await stateOf(job.jobId)).toMatchObject({ job: 'waiting' });
    await app.get(InterruptsService).decide(here.member, other, { action: 'approve' });
    expect(await stateOf(job.jobId)).toMatchObject({ job: 'queued' });
  });

  it('of a workflow node accepts an action with data', async () => {
    const job = await layOutWaitingJob(app, here.member);
    const id = await openInterrupt(app, job, { nodeId: 'n1', request: { mode: 'review', prompt: 'Fine?' } });
    expect(await app.get(InterruptsService).decide(here.member, id, { action: 'modify', data: 'finer' })).toMatchObject(
      {
        status: 'resolved',
        outcome: { outcome: 'modify', answer: { data: 'finer' } },
      },
    );
  });
});

describe('a request of another kind', () => {
  it('refuses an answer to a client tool call and names the endpoint for it', async () => {
    const job = await layOutWaitingJob(app, here.member);
    const id = await openInterrupt(app, job, { kind: 'client_tool' });
    const refused = await refusal(app.get(InterruptsService).decide(here.member, id, { decision: 'approve' }));
    expect(refused).toEqual(['bad_request', expect.stringContaining('client-tool'), {}]);
  });

  it('accepts only a decision of its own kind', async () => {
    for (const [kind, words] of [
      ['tool_approval', 'approve, deny'],
      ['unknown_outcome', 'happened, did_not_happen, repeat, report'],
    ] as const) {
      const job = await layOutWaitingJob(app, here.member);
      const asked = await openInterrupt(app, job, { kind });
      const decide = (body: unknown) => refusal(app.get(InterruptsService).decide(here.member, asked, body));
      expect(await decide({ action: 'skip' })).toEqual(['bad_request', 'Missing decision', {}]);
      expect(await decide(null)).toEqual(['bad_request', 'Missing decision', {}]);
      expect(await decide({ decision: 'perhaps' })).toEqual([
        'bad_request',
        'Invalid decision',
        { issues: [`decision must be one of ${words}`] },
      ]);
    }
  });
});
