import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';

import { scopeOf } from '#auth';
import { JobStopper } from '#jobs';
import { ToolRegistry } from '#tools';

import { type ApprovalStage, openApprovalStage } from '../harness/approval-stage.js';
import { textReply, toolCallReply } from '../harness/scripted-reply.js';

describe('tool approvals', () => {
  let stage: ApprovalStage;

  beforeAll(async () => {
    stage = await openApprovalStage();
  });
  beforeEach(async () => {
    stage.ran.length = 0;
    await stage.policy({ rules: [{ match: 'send', action: 'require_approval' }] });
  });
  afterEach(() => {
    stage.model.assertDone();
  });
  afterAll(async () => {
    await stage.close();
  });

  const send = (to: string, id = 'call_a') => ({ id, name: 'send', arguments: JSON.stringify({ to }) });
  const approve = (request: Readonly<Record<string, unknown>>, more: object = {}) => ({
    decision: 'approve',
    argumentsHash: request['argumentsHash'],
    ...more,
  });
  const lastMessages = () => stage.model.requests.at(-1)?.json['messages'] as { role: string; content: string }[];
  const asked = async (...calls: ReturnType<typeof send>[]) => {
    stage.model.enqueue(toolCallReply(calls), textReply(['Done.']));
    const job = await stage.ask(['send', 'look_up']);
    return { ...job, interrupts: await stage.waits(job.jobId) };
  };
  const one = async (call = send('ada')) => {
    const { jobId, threadId, interrupts } = await asked(call);
    const [interrupt] = interrupts;
    if (interrupt === undefined) throw new Error('nothing is asked');
    return { jobId, threadId, interrupt };
  };

  describe('approval of a tool call', () => {
    it('holds no lease while it waits, then runs the call with exactly the shown arguments and sends the model a receipt', async () => {
      const { jobId, interrupt } = await one();
      expect(interrupt).toMatchObject({
        ...{
          kind: 'tool_approval',
          status: 'open',
          tool: 'send',
          callId: 'call_a',
          requester: stage.people.member.userId,
        },
        request: { argumentsPreview: expect.stringContaining('ada'), approvable: true, argumentsTruncated: false },
      });
      const [row] = await stage.rows<{ lease_until: unknown }>('SELECT lease_until FROM job WHERE id = $1', [jobId]);
      expect(row).toEqual({ lease_until: null });
      expect(stage.ran).toEqual([]);
      expect(await stage.decide(stage.people.member, interrupt, approve(interrupt.request))).toMatchObject({
        status: 'resolved',
        outcome: { outcome: 'approved' },
      });
      expect(await stage.ended(jobId)).toMatchObject({ status: 'completed', content: 'Done.' });
      expect(stage.ran).toEqual([['send', { to: 'ada' }]]);
      expect(lastMessages().slice(-2)).toEqual([
        { role: 'tool', tool_call_id: 'call_a', content: 'send done' },
        { role: 'system', content: 'Approval receipts: call_a approved by a person.' },
      ]);
    });

    it('runs no denied call, and the model reads the reason', async () => {
      const { jobId, interrupt } = await one();
      await stage.decide(stage.people.member, interrupt, { decision: 'deny', reason: 'not on\na Sunday' });
      const job = await stage.ended(jobId);
      expect(job).toMatchObject({ status: 'completed', calls: [{ status: 'denied' }] });
      expect(stage.ran).toEqual([]);
      expect(lastMessages().slice(-2)).toEqual([
        { role: 'tool', tool_call_id: 'call_a', content: 'Tool execution rejected by user: not on a Sunday' },
        { role: 'system', content: 'Approval receipts: call_a denied, not executed.' },
      ]);
    });

    it('runs the call with edited arguments, and stores proposed, approved and executed arguments', async () => {
      const { jobId, interrupt } = await one();
      await expect(
        stage.decide(stage.people.member, interrupt, approve(interrupt.request, { arguments: {} })),
      ).rejects.toMatchObject({ code: 'invalid_arguments', details: { issues: ['Missing required parameters: to'] } });
      await stage.decide(stage.people.member, interrupt, approve(interrupt.request, { arguments: { to: 'bob' } }));
      await stage.ended(jobId);
      expect(stage.ran).toEqual([['send', { to: 'bob' }]]);
      expect(
        await stage.rows(
          'SELECT arguments, approved_arguments, executed_arguments, approval FROM tool_call WHERE job_id = $1',
          [jobId],
        ),
      ).toEqual([
        {
          arguments: '{"to":"ada"}',
          approved_arguments: '{"to":"bob"}',
          executed_arguments: '{"to":"bob"}',
          approval: 'person',
        },
      ]);
      expect(lastMessages().at(-1)?.content).toBe(
        'Approval receipts: call_a approved by a person with edited arguments {"to":"bob"}.',
      );
    });

    it('accepts a repeated decision and rejects another one, also in parallel', async () => {
      const { jobId, interrupt } = await one();
      const yes = approve(interrupt.request);
      const answers = await Promise.allSettled([
        ...Array.from({ length: 5 }, () => stage.decide(stage.people.member, interrupt, yes)),
        ...Array.from({ length: 5 }, () => stage.decide(stage.people.member, interrupt, { decision: 'deny' })),
      ]);
      const won = answers.filter(({ status }) => status === 'fulfilled').length;
      expect(won).toBe(5);
      for (const answer of answers)
        if (answer.status === 'rejected') expect(answer.reason).toMatchObject({ code: 'already_answered' });
      const decisions = await stage.rows(
        `SELECT type FROM job_event WHERE job_id = $1 AND type = 'interrupt-resolved'`,
        [jobId],
      );
      expect(decisions).toHaveLength(1);
      await stage.ended(jobId);
      expect(stage.ran.length).toBeLessThanOrEqual(1);
    });

    it('accepts decisions only from permitted approvers, and returns one error to all others', async () => {
      const { jobId, interrupt } = await one();
      for (const other of [stage.people.viewer, stage.people.admin])
        await expect(stage.decide(other, interrupt, approve(interrupt.request))).rejects.toMatchObject({
          code: 'cannot_decide',
        });
      await stage.decide(stage.people.member, interrupt, { decision: 'deny' });
      await stage.ended(jobId);
    });

    it('rejects a decision when the call has changed since it was shown', async () => {
      const { jobId, interrupt } = await one();
      await expect(stage.decide(stage.people.member, interrupt, { decision: 'approve' })).rejects.toMatchObject({
        code: 'bad_request',
        message: expect.stringContaining(`send request.argumentsHash of request ${interrupt.id}`),
      });
      await expect(
        stage.decide(stage.people.member, interrupt, { decision: 'approve', argumentsHash: '0'.repeat(64) }),
      ).rejects.toMatchObject({ code: 'arguments_changed' });
      await stage.rows(`UPDATE tool_call SET arguments = '{"to":"eve"}' WHERE job_id = $1`, [jobId]);
      await expect(stage.decide(stage.people.member, interrupt, approve(interrupt.request))).rejects.toMatchObject({
        code: 'arguments_changed',
      });
      await stage.decide(stage.people.member, interrupt, { decision: 'deny' });
      await stage.ended(jobId);
      expect(stage.ran).toEqual([]);
    });
  });

  describe('approvals in a round with several calls', () => {
    it('open together, while calls without approval run', async () => {
      const { jobId, interrupts } = await asked(
        send('ada', 'a'),
        { id: 'b', name: 'look_up', arguments: '{"to":"x"}' },
        send('bob', 'c'),
      );
      expect(stage.ran).toEqual([['look_up', { to: 'x' }]]);
      expect(interrupts.map(({ callId }) => callId).sort()).toEqual(['a', 'c']);
      for (const interrupt of interrupts)
        await stage.decide(stage.people.member, interrupt, approve(interrupt.request));
      expect(await stage.ended(jobId)).toMatchObject({ status: 'completed' });
      expect(
        stage.ran
          .slice(1)
          .map(([, args]) => args['to'])
          .sort(),
      ).toEqual(['ada', 'bob']);
      expect(lastMessages().at(-1)?.content).toBe(
        'Approval receipts: a approved by a person; b allowed by policy; c approved by a person.',
      );
    });

    it('run an approved call while another waits, and continue the model once all are settled', async () => {
      const { jobId, interrupts } = await asked(send('ada', 'a'), send('bob', 'b'));
      const [first, second] = interrupts;
      if (first === undefined || second === undefined) throw new Error('two are asked');
      const before = stage.model.requests.length;
      await stage.decide(stage.people.member, first, approve(first.request));
      expect(await stage.waits(jobId)).toHaveLength(1);
      expect(stage.model.requests).toHaveLength(before);
      await stage.decide(stage.people.member, second, { decision: 'deny' });
      expect(await stage.ended(jobId)).toMatchObject({ status: 'completed' });
      expect(stage.ran).toHaveLength(1);
    });
  });

  describe('expired approval', () => {
    it('denies the call, and the job continues', async () => {
      await stage.policy({ rules: [{ match: 'send', action: 'require_approval', timeoutDays: 1e-8 }] });
      const { jobId, interrupt } = await one();
      await stage.timers();
      expect(await stage.ended(jobId)).toMatchObject({ status: 'completed', calls: [{ status: 'denied' }] });
      expect(
        lastMessages()
          .slice(-2)
          .map(({ content }) => content),
      ).toEqual([
        'Tool execution timed out waiting for user approval',
        'Approval receipts: call_a expired, not executed.',
      ]);
      await expect(stage.decide(stage.people.member, interrupt, approve(interrupt.request))).rejects.toMatchObject({
        code: 'expired',
      });
    });

    it('fails its job when the policy requires it', async () => {
      await stage.policy({
        rules: [{ match: 'send', action: 'require_approval', timeoutDays: 1e-8, expireAction: 'fail_job' }],
      });
      stage.model.enqueue(toolCallReply([send('ada')]));
      const { jobId } = await stage.ask(['send']);
      await stage.waits(jobId);
      await stage.timers();
      expect(await stage.ended(jobId)).toMatchObject({ status: 'failed', error: { code: 'approval_expired' } });
    });

    it('rejects a decision after its job was cancelled', async () => {
      stage.model.enqueue(toolCallReply([send('ada')]));
      const { jobId } = await stage.ask(['send']);
      const [interrupt] = await stage.waits(jobId);
      if (interrupt === undefined) throw new Error('nothing is asked');
      expect(await stage.engine.app.get(JobStopper).stop(scopeOf(stage.people.member), jobId)).toBe('aborted');
      await expect(stage.decide(stage.people.member, interrupt, approve(interrupt.request))).rejects.toMatchObject({
        code: 'already_answered',
        details: { status: 'cancelled' },
      });
      expect(await stage.ended(jobId)).toMatchObject({ status: 'cancelled', calls: [{ status: 'cancelled' }] });
    });
  });

  describe('policy check before a call runs', () => {
    it('blocks an approved call that the policy denies now', async () => {
      const { jobId, interrupt } = await one();
      await stage.policy({ rules: [{ match: 'send', action: 'block' }] });
      await stage.decide(stage.people.member, interrupt, approve(interrupt.request));
      expect(await stage.ended(jobId)).toMatchObject({ status: 'completed', calls: [{ status: 'denied' }] });
      expect(stage.ran).toEqual([]);
      expect(lastMessages().find(({ role }) => role === 'tool')?.content).toBe(
        'Tool "send" is not registered on server.',
      );
    });

    it('blocks a call that the policy denies', async () => {
      await stage.policy({ rules: [{ match: 'se*', action: 'block' }] });
      stage.model.enqueue(toolCallReply([send('ada')]), textReply(['No.']));
      const { jobId } = await stage.ask(['send']);
      expect(await stage.ended(jobId)).toMatchObject({ status: 'completed', calls: [{ status: 'denied' }] });
      expect(stage.ran).toEqual([]);
    });
  });

  describe('tool check before a call runs', () => {
    it('runs no approved call whose tool has changed', async () => {
      const { jobId, interrupt } = await one();
      const shown = stage.engine.app.get(ToolRegistry).find('send')?.version;
      const version = 'SELECT tool_version FROM tool_call WHERE job_id = $1';
      expect(await stage.rows(version, [jobId])).toEqual([{ tool_version: shown }]);
      await stage.rows(`UPDATE tool_call SET tool_version = 'of before' WHERE job_id = $1`, [jobId]);
      await stage.decide(stage.people.member, interrupt, approve(interrupt.request));
      expect(await stage.ended(jobId)).toMatchObject({ status: 'completed', calls: [{ status: 'denied' }] });
      expect(stage.ran).toEqual([]);
      expect(lastMessages().slice(-2)).toEqual([
        {
          role: 'tool',
          tool_call_id: 'call_a',
          content: 'Tool "send" changed since this call was proposed. It was not run.',
        },
        { role: 'system', content: 'Approval receipts: call_a not executed.' },
      ]);
    });
  });

  describe('timed grant', () => {
    it('allows later calls of the same operation in the same thread until it is revoked', async () => {
      const { jobId, threadId, interrupt } = await one();
      await stage.decide(stage.people.member, interrupt, approve(interrupt.request, { grantMinutes: 5 }));
      await stage.ended(jobId);
      stage.model.enqueue(toolCallReply([send('bob')]), textReply(['Again.']));
      const second = await stage.ask(['send'], { threadRef: threadId, createThread: false });
      expect(await stage.ended(second.jobId)).toMatchObject({ status: 'completed' });
      expect(stage.ran).toHaveLength(2);
      const elsewhere = await one(send('carl'));
      await stage.decide(stage.people.member, elsewhere.interrupt, { decision: 'deny' });
      await stage.ended(elsewhere.jobId);
    });
  });
});

/** Denies or answers a call, or asks for approval, by its recipient. */
const plugin = `import { defineHook, definePlugin } from '@nightshift/plugin';
export default definePlugin({ name: 'guards', version: '1', hooks: [defineHook({
  on: 'beforeToolCall', name: 'guard',
  run({ arguments: { to }, approval }) {
    if (to === 'denied') return { deny: 'approval ' + approval };
    if (to === 'answered') return { result: 'approval ' + approval };
    if (to === 'asked') return { requireApproval: 'approval ' + approval };
  },
})] });
`;

describe('a timed grant with a hook before tool calls', () => {
  let folder: string;
  let stage: ApprovalStage;

  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'nightshift-hooked-grants-'));
    mkdirSync(join(folder, 'node_modules'));
    symlinkSync(join(process.cwd(), 'node_modules', '@nightshift'), join(folder, 'node_modules', '@nightshift'));
    writeFileSync(join(folder, 'guards.mjs'), plugin);
    stage = await openApprovalStage({ PLUGINS: join(folder, 'guards.mjs'), FEATURE_SUB_JOBS: 'true' });
    await stage.policy({ rules: [{ match: '*', action: 'require_approval' }] });
  });
  afterAll(async () => {
    await stage.close();
    rmSync(folder, { recursive: true, force: true });
  });

  const send = (to: string) => toolCallReply([{ id: 'call_a', name: 'send', arguments: JSON.stringify({ to }) }]);

  /** Calls the tool in a thread with a grant. */
  const sendGranted = async (threadRef: string, to: string) => {
    stage.model.enqueue(send(to), textReply(['Again.']));
    return (await stage.ask(['send'], { threadRef, createThread: false })).jobId;
  };

  /** The jobs that have used a grant. */
  const uses = async () => {
    const { postgres } = stage.database;
    const { rows } = await postgres.withWorkspaceSql(stage.people.owner.workspaceId, (client) =>
      client.query<{ job: string }>(
        `SELECT details->>'jobId' AS job FROM audit_entry WHERE action = 'approval-grant-used'`,
      ),
    );
    return rows.map(({ job }) => job);
  };

  it('counts a use for a call that runs, and none for one that the hook denies, answers or sends to a person', async () => {
    stage.model.enqueue(send('first'), textReply(['Done.']));
    const { jobId, threadId } = await stage.ask(['send']);
    const [interrupt] = await stage.waits(jobId);
    if (interrupt === undefined) throw new Error('nothing is asked');
    const { argumentsHash } = interrupt.request;
    await stage.decide(stage.people.member, interrupt, { decision: 'approve', argumentsHash, grantMinutes: 5 });
    await stage.ended(jobId);
    for (const to of ['denied', 'answered']) {
      const job = await stage.ended(await sendGranted(threadId, to));
      expect(JSON.stringify(job.calls)).toContain('approval approved');
    }
    const asked = await sendGranted(threadId, 'asked');
    const [request] = await stage.waits(asked);
    if (request === undefined) throw new Error('nothing is asked');
    await stage.decide(stage.people.member, request, { decision: 'deny' });
    await stage.ended(asked);
    expect(await uses()).toEqual([]);
    const ran = await sendGranted(threadId, 'second');
    expect(await stage.ended(ran)).toMatchObject({ calls: [{ status: 'completed' }] });
    expect(await uses()).toEqual([ran]);
    expect(stage.ran.map(([, args]) => args)).toEqual([{ to: 'first' }, { to: 'second' }]);
  });

  it('counts no use for a start_job whose job may call the tool', async () => {
    await stage.policy({ rules: [{ match: 'send', action: 'require_approval' }] });
    stage.model.enqueue(send('third'), textReply(['Done.']));
    const { jobId, threadId } = await stage.ask(['send']);
    const [interrupt] = await stage.waits(jobId);
    if (interrupt === undefined) throw new Error('nothing is asked');
    const { argumentsHash } = interrupt.request;
    await stage.decide(stage.people.member, interrupt, { decision: 'approve', argumentsHash, grantMinutes: 5 });
    await stage.ended(jobId);
    const before = await uses();
    const given = { workspace: stage.people.owner.workspaceId, model: 'scripted', prompt: 'Look' };
    const start = toolCallReply([{ id: 'call_b', name: 'start_job', arguments: JSON.stringify(given) }]);
    stage.model.enqueue(start, textReply(['Ended.']), textReply(['Ended.']));
    const parent = await stage.ask(['send', 'start_job'], { threadRef: threadId, createThread: false });
    expect(await stage.ended(parent.jobId)).toMatchObject({ calls: [{ status: 'completed' }] });
    expect(await uses()).toEqual(before);
  });
});
