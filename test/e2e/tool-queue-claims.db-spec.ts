import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, jest } from '@jest/globals';

import { scopeOf } from '#auth';
import { JobStopper } from '#jobs';
import { processName, TOOL_QUEUES } from '#platform';
import { defineTool, ToolQueueSweeper, ToolRegistry, ToolResults, ToolWorker } from '#tools';

import { ExecClaimsRepository } from '../../libs/tools/src/remote/exec-claims.repository.js';
import { type ApprovalStage, openApprovalStage } from '../harness/approval-stage.js';
import { createTestDatabase, type TestDatabase } from '../harness/database.js';
import { endedProcess } from '../harness/ended-process.js';
import { eventually } from '../harness/eventually.js';
import { textReply, toolCallReply } from '../harness/scripted-reply.js';
import { openTestToolQueue, type SentCall, type TestToolQueue, watchedTool } from '../harness/tool-queue.js';

const unknown = 'The tool was started but its outcome is unknown. It was not repeated.';
/** A quarter of an hour, instead of the usual five minutes. */
const env = { TOOL_QUEUE_TTL_MS: '900000' };

describe('tool queue after losses', () => {
  let database: TestDatabase;
  let queue: TestToolQueue;

  beforeEach(async () => {
    database = await createTestDatabase();
    queue = await openTestToolQueue(database);
  });

  afterEach(async () => {
    await queue.close();
    await database.close();
  });

  const claims = () => queue.app.get(ExecClaimsRepository);
  const claim = async (sent: SentCall, owner = 'a process') => {
    const [call] = await claims().claim([{ ...sent, ttlMs: 60_000 }], owner);
    return call;
  };
  /** Claims the call, then simulates the loss of the process. */
  const lose = async (sent: SentCall) => {
    expect(await claim(sent)).toBeDefined();
    await queue.expire(sent);
  };
  /** A session waits for a row lock. */
  const waiters = async () =>
    (
      await queue.rows(`SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`)
    )[0];
  const sweep = () => queue.app.get(ToolQueueSweeper).sweep();
  const messages = (name: string) =>
    queue.rows<{ data: Record<string, unknown>; delayMs: number }>(
      `SELECT data, (extract(epoch FROM start_after - created_on) * 1000)::int AS "delayMs" FROM pgboss.job WHERE name = $1`,
      [name],
    );
  const requests = () => messages(TOOL_QUEUES.requests);
  /** A process fetches the requests. */
  const takeRequests = () => queue.platform.queues.fetch(TOOL_QUEUES.requests, { batchSize: 100 });
  const loseRequests = () => queue.rows('DELETE FROM pgboss.job WHERE name = $1', [TOOL_QUEUES.requests]);
  const waitAMinute = ({ id }: SentCall) =>
    queue.rows(`UPDATE tool_call SET queued_at = queued_at - interval '1 minute' WHERE id = $1`, [id]);

  describe('claims of isolated calls', () => {
    it('succeed for one of many processes with the message', async () => {
      const sent = await queue.sendOne('once');
      const winners = await Promise.all(Array.from({ length: 16 }, (_, i) => claim(sent, `process ${i}`)));
      expect(winners.filter((call) => call !== undefined)).toMatchObject([{ epoch: 1, attempt: 1 }]);
    });

    it.each([
      ['pure', 1],
      ['idempotent', 1],
      ['once', 0],
    ])('expire: a %s call is claimed again, attempt %i', async (tool, takers) => {
      const sent = await queue.sendOne(tool);
      await lose(sent);
      const taken = await Promise.all(Array.from({ length: 8 }, () => claim(sent)));
      expect(taken.filter((call) => call !== undefined)).toHaveLength(takers);
    });

    it.each([
      ['pure', { status: 'running', taken: false, exec_attempts: 1 }],
      ['once', { status: 'interrupted' }],
    ])('end at once with their process: a %s call', async (tool, state) => {
      const sent = await queue.sendOne(tool);
      await claim(sent, await endedProcess());
      await sweep();
      expect(await queue.callOf(sent)).toMatchObject(state);
    });

    it('end with their process although another part of the sweep fails', async () => {
      const sent = await queue.sendOne('once');
      await claim(sent, await endedProcess());
      const { queues } = queue.platform;
      const failing = jest.spyOn(queues, 'superviseNow').mockRejectedValueOnce(new Error('timeout'));
      await expect(sweep()).rejects.toThrow('timeout');
      failing.mockRestore();
      expect(await queue.callOf(sent)).toMatchObject({ status: 'interrupted' });
    });

    it('stay with a live process', async () => {
      const sent = await queue.sendOne('pure');
      await claim(sent, processName());
      await sweep();
      expect(await queue.callOf(sent)).toMatchObject({ status: 'running', taken: true });
    });

    it('fail for a call whose job is cancelled or has ended', async () => {
      const [stopping, ended] = [await queue.sendOne('pure'), await queue.sendOne('pure')];
      await queue.rows('UPDATE job SET cancel_requested_at = now() WHERE id = $1', [stopping.jobId]);
      await queue.rows(`UPDATE job SET status = 'failed', finished_at = now(), lease_until = NULL WHERE id = $1`, [
        ended.jobId,
      ]);
      expect([await claim(stopping), await claim(ended)]).toEqual([undefined, undefined]);
    });

    it('wait for a lock of the job and notice its cancellation', async () => {
      const sent = await queue.sendOne('pure');
      const claimed = await queue.platform.postgres.withWorkspaceSql(sent.workspaceId, async (client) => {
        await client.query('UPDATE job SET cancel_requested_at = now() WHERE id = $1', [sent.jobId]);
        const asked = claim(sent);
        await eventually('it waits', waiters);
        return { asked };
      });
      expect(await claimed.asked).toBeUndefined();
      expect(await queue.callOf(sent)).toMatchObject({ exec_epoch: 0, taken: false });
    });

    it('skip rows that another session locks, and get them later', async () => {
      const sent = await queue.sendOne('pure');
      const claimed = await queue.platform.postgres.withWorkspaceSql(sent.workspaceId, async (client) => {
        await client.query('UPDATE job SET answered = answered + 1 WHERE id = $1', [sent.jobId]);
        const asked = claim(sent);
        await eventually('it waits', waiters);
        return { asked };
      });
      expect(await claimed.asked).toMatchObject({ id: sent.id, epoch: 1 });
    });

    it('renew in one lock order', async () => {
      const sent = (await queue.send('pure', 'pure')).toSorted((a, b) => (a.id < b.id ? -1 : 1));
      const [first, last] = await Promise.all(sent.map((one) => claim(one)));
      if (first === undefined || last === undefined) throw new Error('no claim');
      const { asked } = await queue.platform.postgres.withWorkspaceSql(first.workspaceId, async (client) => {
        await client.query('SELECT 1 FROM tool_call WHERE id = $1 FOR NO KEY UPDATE', [first.id]);
        const renewing = claims().renew([last, first]);
        await eventually('it waits', waiters);
        // A session that waits for the first row has not locked the last.
        await client.query('SELECT 1 FROM tool_call WHERE id = $1 FOR NO KEY UPDATE NOWAIT', [last.id]);
        return { asked: renewing };
      });
      expect(await asked).toEqual(new Set([first.id, last.id]));
    });

    it('reject a renewal of an old epoch', async () => {
      const sent = await queue.sendOne('pure');
      const old = await claim(sent);
      await queue.expire(sent);
      const current = await claim(sent);
      if (old === undefined || current === undefined) throw new Error('no claim');
      expect([...(await claims().renew([old, current]))]).toEqual([sent.id]);
      expect([...(await claims().renew([old]))]).toEqual([]);
      expect(await claims().release(old, { restartWait: true, delayMs: 0 })).toBe(false);
      expect(await queue.callOf(sent)).toMatchObject({ exec_epoch: 2, taken: true });
    });
  });

  describe('isolated calls of lost processes', () => {
    it.each(['pure', 'idempotent'])('repeat a %s call after 1, 5 and 25 s, and then fail it', async (tool) => {
      const sent = await queue.sendOne(tool);
      for (const delayMs of [1_000, 5_000, 25_000]) {
        await takeRequests();
        await lose(sent);
        await sweep();
        expect(await requests()).toMatchObject([{ delayMs, data: { correlation_id: sent.id } }]);
        expect(await queue.callOf(sent)).toMatchObject({ status: 'running', taken: false });
        await sweep();
        expect(await requests()).toHaveLength(1);
        await queue.rows(`UPDATE pgboss.job SET start_after = now() WHERE name = $1`, [TOOL_QUEUES.requests]);
      }
      await takeRequests();
      await lose(sent);
      await sweep();
      const { status, error, exec_attempts } = await queue.callOf(sent);
      expect([status, error?.message, exec_attempts]).toEqual([
        'error',
        `Error executing tool "${tool}": it was started 4 times and each time its process was lost`,
        4,
      ]);
      expect(await queue.jobOf(sent)).toMatchObject({ status: 'queued' });
      expect(await messages(TOOL_QUEUES.dead)).toMatchObject([
        { data: { reason: 'attempts', correlation_id: sent.id } },
      ]);
    });

    it('interrupt a `once` call, and its job continues', async () => {
      const sent = await queue.sendOne('once');
      await takeRequests();
      await lose(sent);
      await Promise.all([sweep(), sweep(), sweep()]);
      expect(await queue.callOf(sent)).toMatchObject({ status: 'interrupted', error: { message: unknown } });
      expect(await queue.jobOf(sent)).toMatchObject({ status: 'queued' });
      expect(await requests()).toEqual([]);
    });

    it('settle a call with a stop request when its process has ended, and remove its message', async () => {
      const [pure, once] = [await queue.sendOne('pure'), await queue.sendOne('once')];
      await takeRequests();
      for (const sent of [pure, once]) {
        await claim(sent);
        await queue.rows(
          `UPDATE tool_call SET cancel_requested_at = now() - interval '11 s', exec_epoch = 2 WHERE id = $1`,
          [sent.id],
        );
      }
      await sweep();
      expect([(await queue.callOf(pure)).status, (await queue.callOf(once)).status]).toEqual([
        'cancelled',
        'interrupted',
      ]);
      // An active message would count against the concurrency of its tool.
      expect(await queue.platform.queues.find(TOOL_QUEUES.requests, {})).toEqual([]);
    });
  });

  describe('queue messages of isolated calls', () => {
    it('repeat when lost, also for a `once` call', async () => {
      const sent = await queue.sendOne('once');
      await loseRequests();
      await waitAMinute(sent);
      await Promise.all([sweep(), sweep()]);
      expect(await requests()).toMatchObject([{ delayMs: 0, data: { correlation_id: sent.id, exec_epoch: 0 } }]);
      await queue.app.get(ToolResults).start();
      queue.app.get(ToolWorker).start();
      (await queue.handling(1)).finish('found');
      expect(await queue.reached(sent, 'completed')).toMatchObject({ exec_epoch: 1 });
    });

    it('do not repeat while they wait, or while a process may be claiming the call', async () => {
      const sent = await queue.sendOne('pure');
      await waitAMinute(sent);
      await sweep();
      expect(await requests()).toHaveLength(1);
      expect(await takeRequests()).toHaveLength(1);
      await sweep();
      expect(await takeRequests()).toEqual([]);
    });

    it.each(['active', 'failed', 'completed'])(
      'repeat when the process was lost before it claimed the call: %s',
      async (state) => {
        const sent = await queue.sendOne('once');
        await takeRequests();
        await waitAMinute(sent);
        await queue.rows(
          `UPDATE pgboss.job SET state = $2, started_on = started_on - interval '1 minute' WHERE name = $1`,
          [TOOL_QUEUES.requests, state],
        );
        await sweep();
        expect(await takeRequests()).toMatchObject([{ data: { correlation_id: sent.id, exec_epoch: 0 } }]);
        expect(await queue.callOf(sent)).toMatchObject({ status: 'running', exec_epoch: 0 });
      },
    );

    it('claim nothing when they ask for an attempt that was made', async () => {
      const sent = await queue.sendOne('pure');
      await lose(sent);
      const [call] = await claims().claim([{ ...sent, ttlMs: 60_000, epoch: 0 }], 'a process');
      expect(call).toBeUndefined();
    });

    it('end their call when no process claims them in time', async () => {
      const sent = await queue.sendOne('once');
      await queue.rows(`UPDATE tool_call SET queued_at = queued_at - interval '6 minutes' WHERE id = $1`, [sent.id]);
      await sweep();
      const { status, error } = await queue.callOf(sent);
      expect([status, error?.message]).toEqual([
        'timed_out',
        'Error executing tool "once": it was not started within 300000 ms',
      ]);
      expect(await queue.jobOf(sent)).toMatchObject({ status: 'queued' });
      expect(await messages(TOOL_QUEUES.dead)).toMatchObject([{ data: { reason: 'not_taken' } }]);
    });
  });
});

describe('tool queue', () => {
  let database: TestDatabase;
  let queue: TestToolQueue;

  beforeAll(async () => {
    database = await createTestDatabase();
    queue = await openTestToolQueue(database, { env });
    await queue.app.get(ToolResults).start();
  });
  afterAll(async () => {
    await queue.close();
    await database.close();
  });

  const waited = async (minutes: number): Promise<SentCall> => {
    const sent = await queue.sendOne('once');
    await queue.rows(`UPDATE tool_call SET queued_at = queued_at - $2::int * interval '1 minute' WHERE id = $1`, [
      sent.id,
      minutes,
    ]);
    return sent;
  };
  const tooLate = 'Error executing tool "once": it was not started within 900000 ms';

  it('ends an unclaimed call after its queue timeout, and none before', async () => {
    const [early, late] = [await waited(6), await waited(16)];
    await queue.app.get(ToolQueueSweeper).sweep();
    expect(await queue.callOf(early)).toMatchObject({ status: 'running' });
    expect(await queue.callOf(late)).toMatchObject({ status: 'timed_out', error: { message: tooLate } });
  });

  it('runs a call that is claimed within its queue timeout, and none after it', async () => {
    const [early, late] = [await waited(6), await waited(16)];
    queue.app.get(ToolWorker).start();
    for (const count of [1, 2]) (await queue.handling(count)).finish('done'); // the one that was left before, and this one
    expect(await queue.reached(early, 'completed')).toMatchObject({ result: 'done' });
    expect(await queue.reached(late, 'timed_out')).toMatchObject({ error: { message: tooLate } });
  });
});

describe('isolated calls of a chat', () => {
  let stage: ApprovalStage;
  /** The processes of the isolated tools. */
  let queue: TestToolQueue;

  beforeAll(async () => {
    stage = await openApprovalStage(env);
    for (const effect of ['once', 'idempotent'] as const)
      stage.engine.app.get(ToolRegistry).register(watchedTool(effect, []));
    queue = await openTestToolQueue(stage.database, { workspaceId: stage.people.owner.workspaceId });
  });
  afterAll(async () => {
    await queue.close();
    await stage.close();
  });

  it('carry their queue timeout in the queue request', async () => {
    stage.engine.app.get(ToolRegistry).register(
      defineTool({
        name: 'dig',
        description: 'd',
        input: { type: 'object' },
        isolation: 'queue',
        execute: () => 'gold',
      }),
    );
    stage.model.enqueue(toolCallReply([{ id: 'call_1', name: 'dig', arguments: '{}' }]));
    const { jobId } = await stage.ask(['dig']);
    const request = await eventually('it is sent', async () => {
      const rows = await stage.rows<{ ttl: number }>(
        `SELECT (data->'metadata'->>'ttl_ms')::int AS ttl FROM pgboss.job WHERE name = 'tool-execution'`,
      );
      return rows[0];
    });
    expect(request).toEqual({ ttl: 900_000 });
    await stage.engine.app.get(JobStopper).stop(scopeOf(stage.people.member), jobId);
  });

  const call = (name: string) => ({ id: `call_${name}`, name, arguments: '{"depth":3}' });

  it('open a request when they need an approval now, and run in the queue once it is approved', async () => {
    stage.model.enqueue(toolCallReply([call('once'), call('idempotent')]), textReply(['Rich.']));
    const { jobId } = await stage.ask(['once', 'idempotent']);
    expect(await stage.waits(jobId)).toEqual([]);
    await stage.policy({ rules: [{ match: 'once', action: 'require_approval' }] });
    queue.app.get(ToolWorker).start();
    await queue.app.get(ToolResults).start();
    const first = await queue.handling(1);
    expect(first.name).toBe('idempotent');
    const asked = await eventually('an approval is requested', async () => (await stage.waits(jobId))[0]);
    expect(asked).toMatchObject({
      kind: 'tool_approval',
      tool: 'once',
      callId: 'call_once',
      requester: stage.people.member.userId,
      request: { argumentsPreview: expect.stringContaining('depth') as unknown, approvable: true },
    });
    first.finish('gold');
    const { argumentsHash } = asked.request;
    await stage.decide(stage.people.member, asked, { decision: 'approve', argumentsHash });
    const second = await queue.handling(2);
    expect([second.name, second.args]).toEqual(['once', { depth: 3 }]);
    second.finish('silver');
    const { calls, content } = await stage.ended(jobId);
    expect(calls.map(({ name, status, result }) => [name, status, result])).toEqual([
      ['once', 'completed', 'silver'],
      ['idempotent', 'completed', 'gold'],
    ]);
    expect(content).toBe('Rich.');
  });
});
