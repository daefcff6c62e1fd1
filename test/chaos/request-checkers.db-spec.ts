import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import pg from 'pg';

import type { Interrupt } from '#jobs';

import { type ApprovalStage, openApprovalStage } from '../harness/approval-stage.js';
import { textReply, toolCallReply } from '../harness/scripted-reply.js';
import { problemsOf } from './checkers.js';
import type { LedgerEntry } from './tool-ledger.js';

let stage: ApprovalStage;
/** A job that waits for two answers. */
let waiting: string;
/** A job that has ended: of its three calls one was approved, one approved with other arguments, and one denied. */
let ended: string;

beforeAll(async () => {
  stage = await openApprovalStage();
  await stage.policy({ rules: [{ match: 'send', action: 'require_approval' }] });
});
beforeEach(async () => {
  ended = await asked('ada', 'bob', 'eve');
  const requests = await stage.waits(ended);
  for (const request of requests) await stage.decide(stage.people.member, request, answerTo(request));
  await stage.ended(ended);
  waiting = await asked('ada', 'bob');
  await stage.waits(waiting);
});
afterEach(async () => {
  const tables = ['interrupt', 'tool_call', 'round', 'job_event', 'job', 'audit_entry'];
  await damage(...tables.map((table) => `DELETE FROM ${table}`));
});
afterAll(async () => {
  await stage.close();
});

async function asked(...to: readonly string[]): Promise<string> {
  const calls = to.map((name, i) => ({ id: `call_${i + 1}`, name: 'send', arguments: JSON.stringify({ to: name }) }));
  const isAsked = to.length === 3;
  stage.model.enqueue(toolCallReply(calls), ...(isAsked ? [textReply(['Done.'])] : []));
  return (await stage.ask(['send'])).jobId;
}

function answerTo({ callId, request }: Interrupt): object {
  if (callId === 'call_3') return { decision: 'deny' };
  const edit = callId === 'call_2' ? { arguments: { to: 'bobby' } } : {};
  return { decision: 'approve', argumentsHash: request['argumentsHash'], ...edit };
}

/** Does what our own roles, checks and triggers would not let us do. `$ended` and `$waiting` stand for the jobs. */
async function damage(...statements: readonly string[]): Promise<void> {
  const client = new pg.Client({ connectionString: stage.database.urls.owner });
  await client.connect();
  await client.query("SET session_replication_role = 'replica'");
  try {
    for (const sql of statements)
      await client.query(sql.replaceAll('$ended', `'${ended}'`).replaceAll('$waiting', `'${waiting}'`));
  } finally {
    await client.end();
  }
}

async function kindsOf(calls: readonly LedgerEntry[] = []): Promise<readonly string[]> {
  const problems = await problemsOf(stage.database, { viewers: [], ledger: { calls, effects: [] } });
  return [...new Set(problems.map((problem) => problem.split(':')[0] ?? ''))];
}

const letter = (ordinal: number, args: object): LedgerEntry => ({
  ...{ tool: 'send', key: `${ended}:1:${ordinal}`, epoch: 1 },
  args: JSON.stringify(args),
});

describe('chaos checkers of requests', () => {
  it('find nothing in a valid database', async () => {
    expect(await kindsOf([letter(1, { to: 'ada' }), letter(2, { to: 'bobby' })])).toEqual([]);
  });

  it.each([
    [
      'for nothing',
      `UPDATE interrupt SET status = 'expired', decided_at = now(), outcome = '{"outcome":"expired"}' WHERE job_id = $waiting`,
      ['liveness', 'requests'],
    ],
    [
      'although a call of it was approved',
      `UPDATE tool_call SET approved_at = now(), approval = 'person' WHERE job_id = $waiting AND ordinal = 1`,
      ['liveness'],
    ],
    [
      'although a call of it is to be repeated',
      `UPDATE tool_call SET status = 'pending' WHERE job_id = $waiting AND ordinal = 1`,
      ['liveness'],
    ],
  ])('find a job that waits %s', async (_what, statement, kinds) => {
    await damage(statement);
    expect(await kindsOf()).toEqual(kinds);
  });

  it.each(['queue', 'client'])('accept a job that waits for a call at a %s', async (executor) => {
    await damage(
      `DELETE FROM interrupt WHERE job_id = $waiting`,
      `DELETE FROM job_event WHERE job_id = $waiting AND type = 'interrupt-opened'`,
      `UPDATE job SET last_seq = (SELECT count(*) FROM job_event e WHERE e.job_id = job.id) WHERE id = $waiting`,
      `UPDATE job_event e SET seq = n.place FROM (SELECT seq, row_number() OVER (ORDER BY seq) AS place FROM job_event
        WHERE job_id = $waiting) n WHERE e.job_id = $waiting AND e.seq = n.seq`,
      `UPDATE tool_call SET status = 'running', executor = '${executor}' WHERE job_id = $waiting AND ordinal = 1`,
    );
    expect(await kindsOf()).toEqual([]);
  });

  it.each([
    ['has two settled events', again('interrupt-resolved', '$ended'), 'requests'],
    ['has two opened events', again('interrupt-opened', '$waiting'), 'requests'],
    [
      'was settled in silence',
      `DELETE FROM job_event WHERE job_id = $ended AND type = 'interrupt-resolved'`,
      'requests',
    ],
    ['opened in silence', `DELETE FROM job_event WHERE job_id = $waiting AND type = 'interrupt-opened'`, 'requests'],
    [
      'fell away in silence',
      `UPDATE interrupt SET status = 'cancelled', decided_at = now(), outcome = '{"outcome":"cancelled"}' WHERE job_id = $waiting`,
      'requests',
    ],
    [
      'has a settled event with another outcome',
      `UPDATE job_event SET body = jsonb_set(body, '{outcome}', '"denied"') WHERE job_id = $ended AND type = 'interrupt-resolved'`,
      'requests',
    ],
    [
      'has a settled event and is open',
      `UPDATE job_event SET type = 'interrupt-resolved', body = jsonb_build_object(
        'interruptId', body->'interruptIds'->0, 'outcome', 'approved') WHERE job_id = $waiting
        AND type = 'job-waiting'`,
      'requests',
    ],
    ['is open in a job that has ended', `UPDATE interrupt SET status = 'open' WHERE job_id = $ended`, 'requests'],
    [
      'was decided twice',
      `INSERT INTO audit_entry SELECT workspace_id, gen_random_uuid(), at, actor, action, subject_type, subject_id, details
         FROM audit_entry WHERE action = 'tool_approval.denied'`,
      'decisions',
    ],
    ['was decided by no user', `DELETE FROM audit_entry WHERE action = 'tool_approval.denied'`, 'decisions'],
  ])('find a request that %s', async (_what, statement, kind) => {
    await damage(statement);
    expect(await kindsOf()).toContain(kind);
  });

  it.each([
    [
      'waits for ever',
      `UPDATE tool_call SET status = 'awaiting_approval' WHERE job_id = $ended AND ordinal = 3`,
      'requests',
    ],
    [
      'ran with other arguments than were approved',
      `UPDATE tool_call SET executed_arguments = arguments WHERE job_id = $ended AND ordinal = 2`,
      'decisions',
    ],
    [
      'ran although it was denied',
      `UPDATE tool_call SET started_at = now() WHERE job_id = $ended AND ordinal = 3`,
      'decisions',
    ],
    [
      'began before anybody had approved it',
      `UPDATE tool_call SET started_at = now() WHERE job_id = $waiting AND ordinal = 1`,
      'decisions',
    ],
  ])('find a call that %s', async (_what, statement, kind) => {
    await damage(statement);
    expect(await kindsOf()).toContain(kind);
  });

  it('find a call that ran with other arguments than approved', async () => {
    expect(await kindsOf([letter(2, { to: 'bob' })])).toEqual(['decisions']);
    expect(await kindsOf([letter(3, { to: 'eve' })])).toEqual(['decisions']);
  });
});

/** The last event of this type once more, behind the last of its job. */
function again(type: string, job: string): string {
  return `WITH up AS (UPDATE job SET last_seq = last_seq + 1 WHERE id = ${job} RETURNING id, last_seq)
    INSERT INTO job_event SELECT e.workspace_id, e.job_id, up.last_seq, e.epoch, e.attempt, e.type, e.body
      FROM up JOIN job_event e ON e.job_id = up.id WHERE e.type = '${type}' ORDER BY e.seq DESC LIMIT 1`;
}
