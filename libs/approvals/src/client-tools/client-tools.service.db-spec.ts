import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';

import type { MemberPrincipal, Role } from '#auth';
import { JobStopper } from '#jobs';
import { newId } from '#platform';

import { openTestClientCalls, refusal, type TestClientCalls } from '../../../../test/harness/client-calls.js';
import { createTestDatabase, type TestDatabase } from '../../../../test/harness/database.js';
import { openTestIdentities } from '../../../../test/harness/identities.js';
import { ApprovalPoliciesService } from '../policies/approval-policies.service.js';

const callId = 'call_1';

describe('calls that clients run:', () => {
  let database: TestDatabase;
  let calls: TestClientCalls;
  let people: Record<Role, MemberPrincipal>;
  let foreigner: MemberPrincipal;
  let me: MemberPrincipal;

  beforeAll(async () => {
    database = await createTestDatabase();
    calls = await openTestClientCalls(database);
    const identities = openTestIdentities(database);
    people = await identities.workspaceOf('acme');
    foreigner = (await identities.workspaceOf('other')).owner;
    me = people.member;
  });

  afterAll(async () => {
    await calls.close();
    await database.close();
  });

  const claim = (jobId: string, deviceId = 'laptop', id = callId) =>
    calls.service.claim(me, jobId, { callId: id, deviceId });

  describe('a claim', () => {
    it('returns the call with the arguments to run, its job and its thread', async () => {
      const { jobId } = await calls.open(me);
      const before = Date.now();
      const claimed = await claim(jobId);
      expect(claimed).toMatchObject({
        claimToken: expect.stringMatching(/^[\w-]{43}$/),
        call: { id: callId, name: 'open_file', arguments: '{"path":"a"}', definition: { type: 'function' } },
        context: {
          workspaceId: me.workspaceId,
          threadId: `the thread of ${jobId}`,
          messageId: `the message of ${jobId}`,
        },
      });
      expect(claimed.expiresAt - before).toBeGreaterThan(25_000);
    });

    it('succeeds for one of many clients', async () => {
      const { jobId } = await calls.open(me);
      const all = await Promise.all(Array.from({ length: 20 }, (_, i) => refusal(claim(jobId, `device ${i}`))));
      const lost = all.filter((answer) => Array.isArray(answer));
      expect(lost).toHaveLength(19);
      expect(new Set(lost.map(String))).toEqual(new Set(['already_claimed,Tool call already claimed,awaiting_client']));
    });

    it('rejects a second claim, also from the device that holds the first', async () => {
      const { jobId } = await calls.open(me);
      await claim(jobId);
      expect(await refusal(claim(jobId))).toEqual(['already_claimed', 'Tool call already claimed', 'awaiting_client']);
    });

    it('expires, and another client can claim the call', async () => {
      const { jobId } = await calls.open(me);
      const first = await claim(jobId);
      await calls.lapse(jobId);
      const second = await claim(jobId, 'phone');
      const late = calls.service.submit(me, jobId, { callId, claimToken: first.claimToken, result: 'late' });
      expect(await refusal(late)).toEqual(['claim_lost', 'Tool claim expired or was replaced', 'awaiting_client']);
      await calls.service.submit(me, jobId, { callId, claimToken: second.claimToken, result: 'in time' });
      expect(await calls.calls(jobId)).toEqual([expect.objectContaining({ result: 'in time' })]);
    });

    it('succeeds only for the device that the request names', async () => {
      const { jobId } = await calls.open(me, { deviceId: 'laptop' });
      const wrong = ['other_device', 'Tool call belongs to another browser device', 'awaiting_client'];
      expect(await refusal(claim(jobId, 'phone'))).toEqual(wrong);
      expect(await claim(jobId, 'laptop')).toHaveProperty('claimToken');
    });

    it('works in any process, not only in the one that opened the request', async () => {
      const { jobId } = await calls.open(me);
      const claimed = await claim(jobId);
      const other = await openTestClientCalls(database);
      await other.service.validate(me, jobId, { callId, claimToken: claimed.claimToken });
      await other.service.submit(me, jobId, { callId, claimToken: claimed.claimToken, result: 'done' });
      await other.close();
      expect(await calls.jobStatus(jobId)).toBe('queued');
    });
  });

  describe('a validated claim', () => {
    it('starts the call and lasts slightly longer than the timeout of the tool', async () => {
      const { jobId } = await calls.open(me, { toolTimeoutMs: 600_000 });
      const { claimToken, expiresAt } = await claim(jobId);
      const validated = await calls.service.validate(me, jobId, { callId, claimToken });
      expect(validated.expiresAt - expiresAt).toBeGreaterThan(595_000);
      expect(await calls.calls(jobId)).toEqual([expect.objectContaining({ status: 'running', executor: 'client' })]);
      expect(await calls.service.validate(me, jobId, { callId, claimToken })).toEqual(validated);
      expect(await calls.updates(jobId)).toEqual(['running']);
      expect(await refusal(claim(jobId, 'phone'))).toEqual(['already_claimed', 'Tool call already claimed', 'running']);
    });

    it('keeps the request open beyond the timeout of the request', async () => {
      const { jobId } = await calls.open(me, { wait: { timeoutMs: 1_000, onTimeout: 'skip' } });
      const { claimToken } = await claim(jobId);
      await calls.service.validate(me, jobId, { callId, claimToken });
      const [row] = await calls.rows<{ kept: boolean }>(
        'SELECT expires_at >= claim_until AS kept FROM interrupt WHERE job_id = $1',
        [jobId],
      );
      expect(row).toEqual({ kept: true });
    });

    it.each([
      ['ran out', (jobId: string) => calls.lapse(jobId)],
      [
        'was for other arguments',
        (jobId: string) => calls.rows(`UPDATE tool_call SET arguments = '{"path":"/etc"}' WHERE job_id = $1`, [jobId]),
      ],
      [
        'was for another definition',
        (jobId: string) =>
          calls.rows(
            `UPDATE interrupt SET request = jsonb_set(request, '{definition,function,name}', '"x"') WHERE job_id = $1`,
            [jobId],
          ),
      ],
      ['was taken back', (jobId: string) => calls.app.get(JobStopper).stop(scopeOfMe(), jobId)],
    ])('fails when the claim %s', async (_, change) => {
      const { jobId } = await calls.open(me);
      const { claimToken } = await claim(jobId);
      await change(jobId);
      const asked = await refusal(calls.service.validate(me, jobId, { callId, claimToken }));
      expect(asked).toEqual([
        'claim_changed',
        'Tool approval expired or its reviewed payload changed',
        expect.stringMatching(/^(awaiting_client|cancelled)$/),
      ]);
    });
  });

  describe('validate', () => {
    it.each(['block', 'require_approval'] as const)('denies a call after a policy change: %s', async (action) => {
      const { jobId } = await calls.open(me);
      const { claimToken } = await claim(jobId);
      const policy = { rules: [{ match: 'open_file', action }] };
      await calls.app.get(ApprovalPoliciesService).save(people.owner, { policy, expectedVersion: null });
      const asked = await refusal(calls.service.validate(me, jobId, { callId, claimToken }));
      await calls.app.get(ApprovalPoliciesService).save(people.owner, { policy: {}, expectedVersion: null });
      expect(asked).toEqual(['claim_changed', 'Tool approval expired or its reviewed payload changed', 'denied']);
      expect(await calls.calls(jobId)).toEqual([expect.objectContaining({ status: 'denied', result: null })]);
      expect(await calls.requests(jobId)).toEqual(['client_tool cancelled denied']);
      expect(await calls.updates(jobId)).toEqual(['denied']);
      expect(await calls.jobStatus(jobId)).toBe('queued');
    });
  });

  describe('other principals', () => {
    const asked = (principal: MemberPrincipal, jobId: string, token: string) =>
      Promise.all([
        refusal(calls.service.claim(principal, jobId, { callId, deviceId: 'd' })),
        refusal(calls.service.validate(principal, jobId, { callId, claimToken: token })),
        refusal(calls.service.submit(principal, jobId, { callId, claimToken: token, result: 'mine' })),
      ]);

    it('cannot serve the call in the same workspace, in any role', async () => {
      const { jobId } = await calls.open(me);
      const { claimToken } = await claim(jobId);
      for (const principal of [people.viewer, people.admin, people.owner]) {
        expect(await asked(principal, jobId, claimToken)).toEqual(Array(3).fill(['forbidden', 'Forbidden']));
      }
    });

    it('get `not_found` for a job of another workspace, as for an unknown one', async () => {
      const { jobId } = await calls.open(me);
      const { claimToken } = await claim(jobId);
      const absent = Array(3).fill(['not_found', 'Job not found or unauthorized']);
      expect(await asked(foreigner, jobId, claimToken)).toEqual(absent);
      expect(await asked(me, newId(), claimToken)).toEqual(absent);
      expect(await asked(me, 'no id', claimToken)).toEqual(absent);
    });

    it('cannot claim a call that does not exist or that runs on the server', async () => {
      const { jobId } = await calls.open(me);
      expect(await refusal(claim(jobId, 'd', 'call_9'))).toEqual(['not_found', 'Job not found or unauthorized']);
      await calls.rows(`UPDATE interrupt SET kind = 'tool_approval' WHERE job_id = $1`, [jobId]);
      expect(await refusal(claim(jobId))).toEqual(['not_pending', 'Tool call is no longer pending', 'awaiting_client']);
    });
  });

  function scopeOfMe() {
    return { workspaceId: me.workspaceId, principal: me.id, userId: me.userId, where: () => ({}) };
  }
});
