import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';

import type { MemberPrincipal } from '#auth';
import { JobStopper } from '#jobs';
import { newId, Redactor, Secret } from '#platform';

import { openTestClientCalls, refusal, type TestClientCalls } from '../../../../test/harness/client-calls.js';
import { createTestDatabase, type TestDatabase } from '../../../../test/harness/database.js';
import { openTestIdentities } from '../../../../test/harness/identities.js';
import { ApprovalPoliciesService } from '../policies/approval-policies.service.js';

const callId = 'call_1';

describe('client tool results', () => {
  let database: TestDatabase;
  let calls: TestClientCalls;
  let me: MemberPrincipal;
  let owner: MemberPrincipal;

  beforeAll(async () => {
    database = await createTestDatabase();
    calls = await openTestClientCalls(database);
    ({ member: me, owner } = await openTestIdentities(database).workspaceOf('acme'));
  });

  afterAll(async () => {
    await calls.close();
    await database.close();
  });

  const claim = (jobId: string, deviceId = 'laptop', id = callId) =>
    calls.service.claim(me, jobId, { callId: id, deviceId });
  const save = (policy: object) =>
    calls.app.get(ApprovalPoliciesService).save(owner, { policy, expectedVersion: null });

  it('settle the call and let the job continue', async () => {
    const { jobId } = await calls.open(me);
    const { claimToken } = await claim(jobId);
    await calls.service.validate(me, jobId, { callId, claimToken });
    expect(await calls.service.submit(me, jobId, { callId, claimToken, result: '{"ok":true}' })).toEqual({
      accepted: true,
    });
    expect(await calls.calls(jobId)).toEqual([
      { status: 'completed', executor: 'client', result: '{"ok":true}', error: null },
    ]);
    expect(await calls.requests(jobId)).toEqual(['client_tool resolved completed']);
    expect(await calls.updates(jobId)).toEqual(['running', 'completed']);
    expect(await calls.jobStatus(jobId)).toBe('queued');
  });

  it('settle the call also within a claim that was not validated', async () => {
    const { jobId } = await calls.open(me);
    const { claimToken } = await claim(jobId);
    await calls.service.submit(me, jobId, { callId, claimToken, result: '' });
    expect(await calls.calls(jobId)).toEqual([{ status: 'completed', executor: 'client', result: '', error: null }]);
  });

  it.each(['block', 'require_approval'] as const)(
    'do not count, and are not validated, when the policy now requires: %s',
    async (action) => {
      const { jobId } = await calls.open(me);
      const { claimToken } = await claim(jobId);
      await save({ rules: [{ match: 'open_file', action }] });
      const submit = () => refusal(calls.service.submit(me, jobId, { callId, claimToken, result: 'done' }));
      const refused = ['not_pending', 'Tool call is no longer pending', 'denied'];
      expect([await submit(), await submit()]).toEqual([refused, refused]);
      await save({});
      const message = 'Tool "open_file" is not registered on server.';
      expect(await calls.calls(jobId)).toEqual([
        expect.objectContaining({ status: 'denied', result: null, error: { phase: 'approval', message } }),
      ]);
      expect(await calls.requests(jobId)).toEqual(['client_tool cancelled denied']);
      expect(await calls.updates(jobId)).toEqual(['denied']);
      expect(await calls.jobStatus(jobId)).toBe('queued');
    },
  );

  it('count if they were validated before the policy blocked the call', async () => {
    const { jobId } = await calls.open(me);
    const { claimToken } = await claim(jobId);
    await calls.service.validate(me, jobId, { callId, claimToken });
    await save({ rules: [{ match: 'open_file', action: 'block' }] });
    await calls.service.submit(me, jobId, { callId, claimToken, result: 'done' });
    await save({});
    expect(await calls.calls(jobId)).toEqual([expect.objectContaining({ status: 'completed', result: 'done' })]);
  });

  it('pass an error to the model', async () => {
    const { jobId } = await calls.open(me);
    const { claimToken } = await claim(jobId);
    await calls.service.submit(me, jobId, { callId, claimToken, error: 'no such file' });
    const error = { phase: 'execution', message: 'Error executing tool "open_file": no such file' };
    expect(await calls.calls(jobId)).toEqual([expect.objectContaining({ status: 'error', error })]);
  });

  it('contain no split surrogate pairs and no text that looks like a key when stored', async () => {
    const { jobId } = await calls.open(me);
    const { claimToken } = await claim(jobId);
    const result = `\0\ud83d password=correct-horse ok`;
    await calls.service.submit(me, jobId, { callId, claimToken, result });
    expect(await calls.calls(jobId)).toEqual([
      expect.objectContaining({ result: '\ufffd\ufffd password=[redacted] ok' }),
    ]);
  });

  it('lose the secrets of their workspace, and keep other text', async () => {
    const { jobId } = await calls.open(me);
    const { claimToken } = await claim(jobId);
    const redactor = calls.app.get(Redactor);
    redactor.add(new Secret('our own word'), me.workspaceId);
    redactor.add(new Secret('their word'), newId());
    await calls.service.submit(me, jobId, { callId, claimToken, result: 'our own word, their word' });
    expect(await calls.calls(jobId)).toEqual([expect.objectContaining({ result: '[redacted], their word' })]);
  });

  it('leave the job waiting while another call is open', async () => {
    const { jobId } = await calls.open(me, { count: 3 });
    const claims = await Promise.all(['call_1', 'call_2', 'call_3'].map((id) => claim(jobId, 'laptop', id)));
    const submit = (i: number) =>
      calls.service.submit(me, jobId, {
        callId: `call_${i + 1}`,
        claimToken: claims[i]?.claimToken ?? '',
        result: String(i),
      });
    await submit(1);
    expect(await calls.jobStatus(jobId)).toBe('waiting');
    await Promise.all([submit(0), submit(2)]);
    expect(await calls.jobStatus(jobId)).toBe('queued');
    expect((await calls.calls(jobId)).map(({ result }) => result)).toEqual(['0', '1', '2']);
    const requeued = await calls.rows(`SELECT 1 FROM job_event WHERE job_id = $1 AND type = 'job-requeued'`, [jobId]);
    expect(requeued).toHaveLength(1);
  });

  it('may repeat unchanged, and fail if they differ', async () => {
    const { jobId } = await calls.open(me);
    const { claimToken } = await claim(jobId);
    const submit = (result: string) => refusal(calls.service.submit(me, jobId, { callId, claimToken, result }));
    const all = await Promise.all(Array.from({ length: 20 }, (_, i) => submit(`result ${i}`)));
    expect(all.filter((answer) => !Array.isArray(answer))).toEqual([{ accepted: true }]);
    const [kept] = await calls.calls(jobId);
    expect(await submit(kept?.result ?? '')).toEqual({ accepted: true });
    const other = ['not_pending', 'Tool call is no longer pending', 'completed'];
    expect(await submit('another')).toEqual(other);
    expect(await refusal(calls.service.submit(me, jobId, { callId, claimToken, error: kept?.result ?? '' }))).toEqual(
      other,
    );
    expect(await refusal(claim(jobId, 'phone'))).toEqual(other);
    expect(await calls.updates(jobId)).toEqual(['completed']);
  });

  it('settle the call once when 20 equal results arrive concurrently', async () => {
    const { jobId } = await calls.open(me);
    const { claimToken } = await claim(jobId);
    const all = await Promise.all(
      Array.from({ length: 20 }, () => calls.service.submit(me, jobId, { callId, claimToken, result: 'same' })),
    );
    expect(all).toEqual(Array.from({ length: 20 }, () => ({ accepted: true })));
    expect(await calls.updates(jobId)).toEqual(['completed']);
  });

  it('fail without the current claim', async () => {
    const { jobId } = await calls.open(me);
    const lost = ['claim_lost', 'Tool claim expired or was replaced', 'awaiting_client'];
    const submit = (claimToken: string) => refusal(calls.service.submit(me, jobId, { callId, claimToken, result: '' }));
    expect(await submit('made up')).toEqual(lost);
    const { claimToken } = await claim(jobId);
    expect(await submit('made up')).toEqual(lost);
    await calls.lapse(jobId);
    expect(await submit(claimToken)).toEqual(lost);
    expect(await calls.calls(jobId)).toEqual([expect.objectContaining({ status: 'awaiting_client' })]);
  });

  it('change nothing after a cancel', async () => {
    const { jobId } = await calls.open(me, { effect: 'pure' });
    const { claimToken } = await claim(jobId);
    await calls.service.validate(me, jobId, { callId, claimToken });
    await calls.app.get(JobStopper).stop(scopeOfMe(), jobId);
    const late = calls.service.submit(me, jobId, { callId, claimToken, result: 'late' });
    expect(await refusal(late)).toEqual(['not_pending', 'Tool call is no longer pending', 'cancelled']);
    expect(await calls.calls(jobId)).toEqual([expect.objectContaining({ status: 'cancelled', result: null })]);
  });

  it.each([
    ['a result and an error', { result: '', error: '' }, ['bad_request', 'Invalid tool result']],
    ['neither', {}, ['bad_request', 'Invalid tool result']],
    ['too much', { result: 'é'.repeat(131_073) }, ['too_large', 'Tool result exceeds 262144 bytes']],
    ['too long an error', { error: 'x'.repeat(262_145) }, ['too_large', 'Tool result exceeds 262144 bytes']],
  ])('fail before any write when they contain %s', async (_, given, expected) => {
    const { jobId } = await calls.open(me);
    const { claimToken } = await claim(jobId);
    expect(await refusal(calls.service.submit(me, jobId, { callId, claimToken, ...given }))).toEqual(expected);
    expect(await calls.calls(jobId)).toEqual([expect.objectContaining({ status: 'awaiting_client' })]);
    await calls.service.submit(me, jobId, { callId, claimToken, result: 'x'.repeat(262_144) });
    expect((await calls.calls(jobId))[0]?.result).toHaveLength(262_144);
  });

  function scopeOfMe() {
    return { workspaceId: me.workspaceId, principal: me.id, userId: me.userId, where: () => ({}) };
  }
});
