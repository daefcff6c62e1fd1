import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';

import type { MemberPrincipal } from '#auth';

import { openTestClientCalls, type TestClientCalls } from '../../../../test/harness/client-calls.js';
import { createTestDatabase, type TestDatabase } from '../../../../test/harness/database.js';
import { openTestIdentities } from '../../../../test/harness/identities.js';

const callId = 'call_1';

describe('a call that no client serves', () => {
  let database: TestDatabase;
  let calls: TestClientCalls;
  let me: MemberPrincipal;

  beforeAll(async () => {
    database = await createTestDatabase();
    calls = await openTestClientCalls(database);
    me = (await openTestIdentities(database).workspaceOf('acme')).member;
  });

  afterAll(async () => {
    await calls.close();
    await database.close();
  });

  const begin = async (jobId: string) => {
    const { claimToken } = await calls.service.claim(me, jobId, { callId, deviceId: 'laptop' });
    await calls.service.validate(me, jobId, { callId, claimToken });
    return claimToken;
  };
  const submit = (jobId: string, claimToken: string) =>
    calls.service.submit(me, jobId, { callId, claimToken, result: 'done' });

  it.each([
    ['wait', 'timed_out', { phase: 'timeout', message: 'No client ran tool "open_file" in time.' }],
    ['skip', 'skipped', { phase: 'timeout', message: 'Tool "open_file" is client-only.' }],
    [
      'fail',
      'timed_out',
      { phase: 'timeout', message: 'No client ran tool "open_file" in time.', failJob: 'client_tool_timeout' },
    ],
  ] as const)('ends as its request declared: %s', async (onTimeout, status, error) => {
    const { jobId } = await calls.open(me, { wait: { timeoutMs: 1_000, onTimeout } });
    await calls.expire(jobId);
    await calls.look();
    expect(await calls.calls(jobId)).toEqual([{ status, executor: 'worker', result: null, error }]);
    expect(await calls.requests(jobId)).toEqual([`client_tool expired ${status}`]);
    expect(await calls.jobStatus(jobId)).toBe('queued');
  });

  it('accepts no result after its timeout', async () => {
    const { jobId } = await calls.open(me, { wait: { timeoutMs: 1_000, onTimeout: 'skip' } });
    const { claimToken } = await calls.service.claim(me, jobId, { callId, deviceId: 'laptop' });
    await calls.lapse(jobId);
    await calls.expire(jobId);
    await calls.look();
    const late = { code: 'not_pending', details: { callStatus: 'skipped' } };
    await expect(submit(jobId, claimToken)).rejects.toMatchObject(late);
    expect(await calls.updates(jobId)).toEqual(['skipped']);
  });

  it('waits until its timeout', async () => {
    const { jobId } = await calls.open(me);
    await calls.look();
    expect(await calls.jobStatus(jobId)).toBe('waiting');
  });

  it('does not time out while a client has a valid claim', async () => {
    const { jobId } = await calls.open(me, { wait: { timeoutMs: 1_000, onTimeout: 'skip' } });
    const { claimToken } = await calls.service.claim(me, jobId, { callId, deviceId: 'laptop' });
    await calls.expire(jobId);
    await calls.look();
    expect(await calls.jobStatus(jobId)).toBe('waiting');
    await submit(jobId, claimToken);
    expect(await calls.jobStatus(jobId)).toBe('queued');
  });

  it.each(['pure', 'idempotent'] as const)(
    'goes to another client when the first disconnects, if it is %s',
    async (effect) => {
      const { jobId } = await calls.open(me, { effect });
      const lost = await begin(jobId);
      await calls.lapse(jobId);
      await calls.look();
      expect(await calls.calls(jobId)).toEqual([expect.objectContaining({ status: 'awaiting_client' })]);
      expect(await calls.requests(jobId)).toEqual(['client_tool open']);
      await expect(submit(jobId, lost)).rejects.toMatchObject({ code: 'claim_lost' });
      await submit(jobId, await begin(jobId));
      expect(await calls.updates(jobId)).toEqual(['running', 'awaiting_client', 'running', 'completed']);
    },
  );

  it('opens a request to a person when the client of a `once` call is lost', async () => {
    const { jobId } = await calls.open(me);
    const lost = await begin(jobId);
    await calls.lapse(jobId);
    await calls.look();
    expect(await calls.calls(jobId)).toEqual([expect.objectContaining({ status: 'interrupted' })]);
    expect(await calls.requests(jobId)).toEqual(['client_tool expired interrupted', 'unknown_outcome open']);
    expect(await calls.jobStatus(jobId)).toBe('waiting');
    const { rows } = await database.postgres.workerPool.query<{ request: object }>(
      `SELECT request FROM interrupt WHERE job_id = $1 AND kind = 'unknown_outcome'`,
      [jobId],
    );
    expect(rows).toEqual([{ request: expect.objectContaining({ startedAt: expect.any(Number) }) }]);
    await expect(begin(jobId)).rejects.toMatchObject({ code: 'not_pending', details: { callStatus: 'interrupted' } });
    await expect(submit(jobId, lost)).rejects.toMatchObject({ code: 'not_pending' });
  });

  it('opens a request to a person also after its timeout', async () => {
    const { jobId } = await calls.open(me, { wait: { timeoutMs: 1_000, onTimeout: 'skip' } });
    await begin(jobId);
    await calls.lapse(jobId);
    await calls.expire(jobId);
    await calls.look();
    expect(await calls.requests(jobId)).toEqual(['client_tool expired interrupted', 'unknown_outcome open']);
  });

  it('settles once, however many processes check it', async () => {
    const { jobId } = await calls.open(me, { wait: { timeoutMs: 1_000, onTimeout: 'skip' } });
    await calls.expire(jobId);
    const other = await openTestClientCalls(database);
    await Promise.all([calls.look(), other.look(), calls.look(), other.look()]);
    await other.close();
    expect(await calls.updates(jobId)).toEqual(['skipped']);
  });

  it('ends by its timeout or by a result, never by both', async () => {
    for (let i = 0; i < 20; i++) {
      const { jobId } = await calls.open(me, { wait: { timeoutMs: 1_000, onTimeout: 'skip' } });
      const { claimToken } = await calls.service.claim(me, jobId, { callId, deviceId: 'laptop' });
      await calls.rows(
        `UPDATE interrupt SET expires_at = clock_timestamp(), claim_until = clock_timestamp() + interval '2 ms' WHERE job_id = $1`,
        [jobId],
      );
      await Promise.allSettled([calls.look(), submit(jobId, claimToken), calls.look()]);
      await calls.look();
      expect(await calls.updates(jobId)).toHaveLength(1);
    }
  });
});
