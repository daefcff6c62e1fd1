import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';

import { parseApprovalPolicy } from '#approvals';
import { JobStopper } from '#jobs';
import { ToolDidNothing, ToolQueueCancels, ToolResults, ToolWorker } from '#tools';

import { createTestDatabase, type TestDatabase } from '../harness/database.js';
import { eventually } from '../harness/eventually.js';
import { openTestToolQueue, type SentCall, type TestToolQueue } from '../harness/tool-queue.js';

const ids = (call: { status: string; error: { message: string } | null }) => [call.status, call.error?.message ?? null];
const unknown = 'The tool was started but its outcome is unknown. It was not repeated.';

describe('isolated call', () => {
  let database: TestDatabase;
  let queue: TestToolQueue;
  const worker = () => queue.app.get(ToolWorker);

  beforeEach(async () => {
    database = await createTestDatabase();
    queue = await openTestToolQueue(database);
    await queue.app.get(ToolResults).start();
  });

  afterEach(async () => {
    await queue.close();
    await database.close();
  });

  const typesOf = async (sent: SentCall) => (await queue.eventsOf(sent)).map(({ type }) => type);

  it('runs in a tool process, and its job continues with the result', async () => {
    const sent = await queue.sendOne('idempotent');
    worker().start();
    const { context, args, finish } = await queue.handling(1);
    expect(args).toEqual({ n: 1 });
    expect(context).toMatchObject({
      workspaceId: sent.workspaceId,
      jobId: sent.jobId,
      callId: 'call_1',
      idempotencyKey: `${sent.jobId}:1:1`,
      epoch: 1,
      principal: 'system',
    });
    expect(await queue.jobOf(sent)).toMatchObject({ status: 'waiting' });
    finish({ found: 'gold' });
    expect(await queue.reached(sent, 'completed')).toMatchObject({ result: '{"found":"gold"}', taken: false });
    expect(await queue.jobOf(sent)).toMatchObject({ status: 'queued' });
    const events = await queue.eventsOf(sent);
    expect(events.slice(-2)).toEqual([
      expect.objectContaining({
        type: 'tool-call-updated',
        body: expect.objectContaining({ round: 1, internalStatus: 'completed' }),
      }),
      expect.objectContaining({ type: 'job-requeued' }),
    ]);
  });

  it('keeps its claim while it runs longer than a claim lasts', async () => {
    await queue.close();
    queue = await openTestToolQueue(database, { env: { LEASE_MS: '12000' } });
    await queue.app.get(ToolResults).start();
    const sent = await queue.sendOne('once');
    worker().start();
    const { finish } = await queue.handling(1);
    const until = async () => {
      const [row] = await queue.rows<{ until: Date }>('SELECT exec_until AS until FROM tool_call WHERE id = $1', [
        sent.id,
      ]);
      return row?.until.getTime() ?? 0;
    };
    const before = await until();
    await eventually('the claim is renewed twice', async () => ((await until()) > before + 6_000 ? true : undefined));
    finish('done');
    expect(await queue.reached(sent, 'completed')).toMatchObject({ exec_epoch: 1, result: 'done' });
  });

  it('keeps its job waiting until the last call of the round has ended', async () => {
    const [first, second] = await queue.send('pure', 'pure');
    if (first === undefined || second === undefined) throw new Error('nothing was sent');
    worker().start();
    (await queue.handling(1)).finish('a');
    (await queue.handling(2)).fail(new Error('no luck'));
    const ended = await Promise.all(
      [first, second].map((sent) =>
        eventually('it ends', async () => {
          const call = await queue.callOf(sent);
          return call.status === 'running' ? undefined : call;
        }),
      ),
    );
    expect(ended.map(({ status }) => status).sort()).toEqual(['completed', 'error']);
    expect(await queue.jobOf(first)).toMatchObject({ status: 'queued' });
    expect((await typesOf(first)).filter((type) => type === 'job-requeued')).toHaveLength(1);
  });

  it('publishes numbered progress, and none after its end', async () => {
    const sent = await queue.sendOne('pure');
    worker().start();
    const { context, finish } = await queue.handling(1);
    context.progress({ progress: 1, total: 3 });
    context.progress({ progress: 2, total: 3, message: 'digging' });
    const shown = async () => (await queue.eventsOf(sent)).filter(({ type }) => type === 'tool-progress');
    await eventually('both are shown', async () => ((await shown()).length === 2 ? true : undefined));
    finish('done');
    await queue.reached(sent, 'completed');
    context.progress({ progress: 3, total: 3 });
    expect((await shown()).map(({ body }) => body)).toEqual([
      { callId: 'call_1', seqInCall: 1, progress: 1, total: 3 },
      { callId: 'call_1', seqInCall: 2, progress: 2, total: 3, message: 'digging' },
    ]);
    expect(await queue.rows('SELECT 1 FROM job WHERE id = $1 AND answered = 1', [sent.jobId])).toHaveLength(1);
  });

  it('does not run when it has waited too long', async () => {
    const sent = await queue.sendOne('once');
    await queue.rows(`UPDATE tool_call SET queued_at = queued_at - interval '6 minutes' WHERE id = $1`, [sent.id]);
    worker().start();
    expect(ids(await queue.reached(sent, 'timed_out'))).toEqual([
      'timed_out',
      'Error executing tool "once": it was not started within 300000 ms',
    ]);
  });

  it('fails as not registered when its tool is removed', async () => {
    const sent = await queue.sendOne('vanished');
    worker().start();
    expect(ids(await queue.reached(sent, 'error'))).toEqual(['error', 'Tool "vanished" is not registered on server.']);
  });

  it('fails as denied when its tool has changed since it was offered', async () => {
    const sent = await queue.sendOne('once');
    await queue.rows(`UPDATE tool_call SET tool_version = 'another' WHERE id = $1`, [sent.id]);
    worker().start();
    expect(ids(await queue.reached(sent, 'denied'))).toEqual([
      'denied',
      'Tool "once" changed since this call was proposed. It was not run.',
    ]);
  });

  const setPolicy = async ({ workspaceId }: SentCall, action: 'block' | 'require_approval') => {
    const policy = parseApprovalPolicy({ rules: [{ match: 'once', action }] });
    await queue.platform.postgres.withWorkspaceSql(workspaceId, (client) =>
      client.query(
        `INSERT INTO approval_policy (workspace_id, version, policy, created_by) VALUES ($1, 1, $2, 'user:a')`,
        [workspaceId, policy],
      ),
    );
  };

  it('fails as denied when the policy blocks it now', async () => {
    const sent = await queue.sendOne('once');
    await setPolicy(sent, 'block');
    worker().start();
    expect(ids(await queue.reached(sent, 'denied'))).toEqual(['denied', 'Tool "once" is not registered on server.']);
    expect(await queue.rows('SELECT approval, started_at FROM tool_call WHERE id = $1', [sent.id])).toEqual([
      { approval: 'withdrawn', started_at: null },
    ]);
  });

  it('returns to its job when the policy requires an approval now, and no process claims it', async () => {
    const sent = await queue.sendOne('once');
    await setPolicy(sent, 'require_approval');
    worker().start();
    expect(await queue.reached(sent, 'pending')).toMatchObject({ exec_epoch: 2, exec_attempts: 0, taken: false });
    expect(await queue.jobOf(sent)).toMatchObject({ status: 'queued' });
    const row = await queue.rows('SELECT executor, started_at, error FROM tool_call WHERE id = $1', [sent.id]);
    expect(row).toEqual([{ executor: 'worker', started_at: null, error: null }]);
    expect((await typesOf(sent)).slice(-2)).toEqual(['tool-call-updated', 'job-requeued']);
  });

  it('fails as denied when the policy of the request denies it', async () => {
    const sent = await queue.sendOne('once');
    const policy = parseApprovalPolicy({ rules: [{ match: 'once', action: 'block' }] });
    await queue.rows(`UPDATE job SET input = jsonb_set(input, '{toolApproval}', $2) WHERE id = $1`, [
      sent.jobId,
      policy,
    ]);
    worker().start();
    expect(await queue.reached(sent, 'denied')).toMatchObject({ status: 'denied' });
  });

  it('fails as denied when its requester is no longer a member', async () => {
    const sent = await queue.sendOne('once');
    await queue.rows(`UPDATE job SET principal = $2 WHERE id = $1`, [sent.jobId, `user:${sent.id}`]);
    worker().start();
    expect(ids(await queue.reached(sent, 'denied'))).toEqual(['denied', 'Tool "once" is not registered on server.']);
  });

  it.each([
    ['pure', 'cancelled', 'Tool execution cancelled'],
    ['idempotent', 'cancelled', 'Tool execution cancelled'],
    ['once', 'interrupted', unknown],
  ])('that is cancelled while it runs: %s becomes %s, and its job continues', async (tool, status, text) => {
    const sent = await queue.sendOne(tool);
    worker().start();
    const { context, fail } = await queue.handling(1);
    const cancels = queue.app.get(ToolQueueCancels);
    const order = { ...sent, toolCallId: sent.id, issuedBy: 'user:a' };
    expect(await cancels.cancel(order)).toBe('stopping');
    await eventually('it is aborted', () => (context.signal.aborted ? true : undefined));
    fail(new Error('stopped'));
    expect(ids(await queue.reached(sent, status))).toEqual([status, text]);
    expect(await queue.jobOf(sent)).toMatchObject({ status: 'queued' });
    expect(await cancels.cancel(order)).toBe('settled');
  });

  it('ends as cancelled although it may run once, when the tool reports that it did nothing', async () => {
    const sent = await queue.sendOne('once');
    worker().start();
    const { context, fail } = await queue.handling(1);
    await queue.app.get(ToolQueueCancels).cancel({ ...sent, toolCallId: sent.id, issuedBy: 'user:a' });
    await eventually('it is aborted', () => (context.signal.aborted ? true : undefined));
    fail(new ToolDidNothing());
    expect(ids(await queue.reached(sent, 'cancelled'))).toEqual(['cancelled', 'Tool execution cancelled']);
  });

  it('loses its result to an earlier stop', async () => {
    const sent = await queue.sendOne('pure');
    worker().start();
    const { finish } = await queue.handling(1);
    await queue.app.get(ToolQueueCancels).cancel({ ...sent, toolCallId: sent.id, issuedBy: 'user:a' });
    finish('too late');
    expect(await queue.reached(sent, 'cancelled')).toMatchObject({ result: null });
  });

  it('ends as cancelled at once when no process has claimed it', async () => {
    const sent = await queue.sendOne('once');
    const cancels = queue.app.get(ToolQueueCancels);
    expect(await cancels.cancel({ ...sent, toolCallId: sent.id, issuedBy: 'user:a' })).toBe('cancelled');
    expect(ids(await queue.callOf(sent))).toEqual(['cancelled', 'Tool execution cancelled']);
    expect(await queue.jobOf(sent)).toMatchObject({ status: 'queued' });
    worker().start();
    (await queue.send('pure')).at(0);
    expect((await queue.handling(1)).name).toBe('pure');
  });

  it('stops when its job is cancelled, and its result changes nothing', async () => {
    const sent = await queue.sendOne('idempotent');
    worker().start();
    const { context, finish } = await queue.handling(1);
    const scope = { workspaceId: sent.workspaceId, principal: 'user:a', userId: null, where: () => ({}) };
    expect(await queue.app.get(JobStopper).stop(scope, sent.jobId)).toBe('aborted');
    await eventually('it is aborted', () => (context.signal.aborted ? true : undefined));
    finish('too late');
    await worker().stop(1_000);
    const log = await typesOf(sent);
    expect(await queue.callOf(sent)).toMatchObject({ status: 'cancelled', result: null });
    expect(log.at(-1)).toBe('job-finished');
  });

  it.each(['pure', 'idempotent', 'once'])(
    'ends as cancelled with its job when no process has claimed it, also when it is %s',
    async (tool) => {
      const sent = await queue.sendOne(tool);
      const scope = { workspaceId: sent.workspaceId, principal: 'user:a', userId: null, where: () => ({}) };
      expect(await queue.app.get(JobStopper).stop(scope, sent.jobId)).toBe('aborted');
      expect(ids(await queue.callOf(sent))).toEqual(['cancelled', 'Tool execution cancelled']);
    },
  );

  it('returns to the queue when its process stops, if it may be repeated', async () => {
    const sent = await queue.sendOne('idempotent');
    worker().start();
    await queue.handling(1);
    await worker().stop(0);
    expect(await queue.callOf(sent)).toMatchObject({
      status: 'running',
      taken: false,
      exec_epoch: 1,
      exec_attempts: 0,
    });
    const other = await openTestToolQueue(database);
    other.app.get(ToolWorker).start();
    const again = await other.handling(1);
    expect(again.context).toMatchObject({ idempotencyKey: `${sent.jobId}:1:1`, epoch: 2 });
    again.finish('done');
    expect(await queue.reached(sent, 'completed')).toMatchObject({ result: 'done', exec_attempts: 1 });
    await other.close();
  });

  it('ends as interrupted when its process stops, if it may run once', async () => {
    const sent = await queue.sendOne('once');
    worker().start();
    await queue.handling(1);
    await worker().stop(0);
    expect(ids(await queue.reached(sent, 'interrupted'))).toEqual(['interrupted', unknown]);
  });

  it('completes while its process drains', async () => {
    const sent = await queue.sendOne('once');
    worker().start();
    const { finish } = await queue.handling(1);
    const stopped = worker().stop(10_000);
    finish('just in time');
    await stopped;
    expect(await queue.reached(sent, 'completed')).toMatchObject({ result: 'just in time' });
  });
});
