import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';

import { hashOf } from '#files';
import { insertInterrupt } from '#jobs';
import { ManualClock, newId, Postgres, TOOL_QUEUES } from '#platform';
import { ToolQueueSweeper, ToolResults, ToolWorker } from '#tools';

import { DeadLetters } from '../../libs/tools/src/remote/dead-letters.js';
import { ExecClaimsRepository } from '../../libs/tools/src/remote/exec-claims.repository.js';
import { responseId, type ToolProgressMessage, type ToolResponse } from '../../libs/tools/src/remote/queue-message.js';
import { ResultApplier } from '../../libs/tools/src/remote/result-applier.js';
import { SentFiles } from '../../libs/tools/src/remote/sent-files.js';
import { createTestDatabase, type TestDatabase } from '../harness/database.js';
import { eventually } from '../harness/eventually.js';
import { startHttpTarget } from '../harness/http-target.js';
import { s3Key } from '../harness/s3-server.js';
import { openTestToolQueue, progressOf, responseTo, type SentCall, type TestToolQueue } from '../harness/tool-queue.js';

describe('results of isolated calls', () => {
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
  /** Claims the call and lets its process be lost. */
  const lose = async (sent: SentCall) => {
    expect(await claim(sent)).toBeDefined();
    await queue.expire(sent);
  };
  const sweep = () => queue.app.get(ToolQueueSweeper).sweep();
  /** As a tool process identifies the message of a response. */
  const idOf = (data: object) =>
    'started' in data && 'correlation_id' in data && 'exec_epoch' in data
      ? { id: responseId(String(data.correlation_id), Number(data.exec_epoch)) }
      : {};
  const sendResult = (data: object) =>
    queue.platform.queues.send(null, TOOL_QUEUES.results, [{ ...idOf(data), data, key: queue.workspaceId }]);
  const apply = (message: ToolResponse | ToolProgressMessage, ageMs = 0) =>
    queue.app.get(ResultApplier).apply({ message, ageMs });
  const shown = async (sent: SentCall) =>
    (await queue.eventsOf(sent)).filter(({ type }) => type === 'tool-progress').map(({ body }) => body['progress']);
  /** Lets the progress that was shown last lie in the past. */
  const wait = (sent: SentCall) =>
    queue.rows(`UPDATE tool_call SET progress_at = progress_at - interval '1 s' WHERE id = $1`, [sent.id]);
  /** Sets the time of the last progress one hour ahead, so that no further progress is due during the test. */
  const hold = (sent: SentCall) =>
    queue.rows(`UPDATE tool_call SET progress_at = progress_at + interval '1 h' WHERE id = $1`, [sent.id]);

  describe('response of a tool process', () => {
    it('applies once when it arrives repeatedly', async () => {
      const sent = await queue.sendOne('idempotent');
      await claim(sent);
      await Promise.all(Array.from({ length: 8 }, () => apply(responseTo(sent, 1))));
      expect(await queue.callOf(sent)).toMatchObject({ status: 'completed', result: 'result of 1' });
      const types = (await queue.eventsOf(sent)).map(({ type }) => type);
      expect(types.filter((type) => type === 'tool-call-updated')).toHaveLength(1);
      expect(types.filter((type) => type === 'job-requeued')).toHaveLength(1);
      await apply(responseTo(sent, 1, { result: { content: 'another', success: true } }));
      expect(await queue.callOf(sent)).toMatchObject({ result: 'result of 1' });
    });

    it('changes nothing with an old epoch', async () => {
      const sent = await queue.sendOne('idempotent');
      await lose(sent);
      await claim(sent);
      await apply(responseTo(sent, 1));
      expect(await queue.callOf(sent)).toMatchObject({ status: 'running', exec_epoch: 2 });
      await apply(responseTo(sent, 2));
      expect(await queue.callOf(sent)).toMatchObject({ status: 'completed', result: 'result of 2' });
    });

    it('settles a `once` call with an unknown outcome when it arrives late', async () => {
      const sent = await queue.sendOne('once');
      await lose(sent);
      await sweep();
      await openUnknown(sent);
      await apply(responseTo(sent, 1));
      expect(await queue.callOf(sent)).toMatchObject({ status: 'completed', result: 'result of 1' });
      expect((await queue.eventsOf(sent)).slice(-3)).toMatchObject([
        { type: 'tool-call-updated', body: { internalStatus: 'completed' } },
        { type: 'interrupt-resolved', body: { outcome: 'happened' } },
        { type: 'job-requeued' },
      ]);
    });

    it('changes nothing when it arrives after a decision of a person', async () => {
      const sent = await queue.sendOne('once');
      await lose(sent);
      await sweep();
      await openUnknown(sent);
      await queue.rows(
        `UPDATE interrupt SET status = 'resolved', decided_at = now(), outcome = '{"outcome":"report"}'`,
      );
      const before = await queue.eventsOf(sent);
      await apply(responseTo(sent, 1));
      expect(await queue.callOf(sent)).toMatchObject({ status: 'interrupted' });
      expect(await queue.eventsOf(sent)).toEqual(before);
    });

    it('settles a call with the mapping of the contract', async () => {
      const failure = { phase: 'execution', message: 'no' } as const;
      const outcomes: [Partial<ToolResponse>, string][] = [
        [{ status: 'success', result: { content: 'broken', success: false } }, 'error'],
        [{ status: 'error', result: null, error: failure }, 'error'],
        [{ status: 'error', result: null, error: { ...failure, phase: 'approval' } }, 'denied'],
        [{ status: 'timed_out', result: null, error: { ...failure, phase: 'timeout' } }, 'timed_out'],
        [{ status: 'cancelled', result: null, started: true }, 'interrupted'],
        [{ status: 'cancelled', result: null, started: false }, 'cancelled'],
      ];
      for (const [changes, status] of outcomes) {
        const sent = await queue.sendOne('once');
        await claim(sent);
        await apply(responseTo(sent, 1, changes));
        expect(await queue.callOf(sent)).toMatchObject({ status });
      }
    });

    it('stores a large result whole and shows the part for the model', async () => {
      const sent = await queue.sendOne('pure');
      await claim(sent);
      const content = '0123456789'.repeat(60_000);
      await apply(responseTo(sent, 1, { result: { content, success: true } }));
      const { result } = await queue.callOf(sent);
      expect(result).toMatch(/read_tool_output.*\n\[truncated, 600000 bytes in total\]$/);
      const kept = await database.postgres.readInWorkspace<{ text: string }>(sent.workspaceId, {
        text: 'SELECT text FROM tool_output WHERE tool_call_id = $1',
        values: [sent.id],
      });
      expect(kept).toEqual([{ text: content }]);
    });

    it('clears the start when it reports that nothing began', async () => {
      const sent = await queue.sendOne('once');
      await claim(sent);
      await apply(responseTo(sent, 1, { status: 'cancelled', result: null, started: false }));
      const [row] = await queue.rows('SELECT status, started_at, duration_ms FROM tool_call WHERE id = $1', [sent.id]);
      expect(row).toEqual({ status: 'cancelled', started_at: null, duration_ms: null });
    });

    it('stays in the queue until it is applied', async () => {
      const sent = await queue.sendOne('once');
      await claim(sent);
      await sendResult(responseTo(sent, 1));
      await queue.expire(sent);
      const { queues } = queue.platform;
      const [taken] = await queues.fetch(TOOL_QUEUES.results, {});
      if (taken === undefined) throw new Error('nothing was sent');
      // As long as it waits or is handled the call is not lost, although its claim has run out.
      await sweep();
      await queues.giveBack(TOOL_QUEUES.results, taken);
      await sweep();
      expect(await queue.callOf(sent)).toMatchObject({ status: 'running' });
      await queue.app.get(ToolResults).start();
      expect(await queue.reached(sent, 'completed')).toMatchObject({ result: 'result of 1' });
      await eventually('the message is completed', async () =>
        (await queues.find(TOOL_QUEUES.results, {})).every(({ state }) => state === 'completed') ? true : undefined,
      );
    });

    it('repeats through pg-boss when its process is lost while applying it', async () => {
      const sent = await queue.sendOne('once');
      await claim(sent);
      await sendResult(responseTo(sent, 1));
      await queue.platform.queues.fetch(TOOL_QUEUES.results, {});
      await queue.rows(`UPDATE pgboss.job SET heartbeat_on = heartbeat_on - interval '1 minute' WHERE name = $1`, [
        TOOL_QUEUES.results,
      ]);
      await sweep();
      await queue.app.get(ToolResults).start();
      expect(await queue.reached(sent, 'completed')).toMatchObject({ result: 'result of 1' });
    });

    it('becomes a dead letter after all retries, and its call ends by its effect', async () => {
      const sent = await queue.sendOne('once');
      await claim(sent);
      await sendResult(responseTo(sent, 1));
      const url = database.urls.owner;
      const owner = Postgres.connect({ api: url, worker: url }, { poolSize: 1 });
      await owner.workerPool.query('ALTER TABLE tool_call ADD CONSTRAINT broken CHECK (result IS NULL) NOT VALID');
      await owner.close();
      await queue.rows(
        'UPDATE pgboss.job SET retry_limit = 1, retry_delay = 0, retry_backoff = false WHERE name = $1',
        [TOOL_QUEUES.results],
      );
      await queue.app.get(ToolResults).start();
      const letters = await eventually('it is a dead letter', async () => {
        const found = await queue.app.get(DeadLetters).list(queue.workspaceId, { first: 10 });
        return found.length > 0 ? found : undefined;
      });
      expect(letters).toMatchObject([{ reason: 'not_applied', toolCallId: sent.id, jobId: sent.jobId }]);
      await queue.expire(sent);
      await sweep();
      expect(await queue.callOf(sent)).toMatchObject({ status: 'interrupted' });
    });

    it('repeats as long as the database is unavailable', async () => {
      const sent = await queue.sendOne('once');
      await claim(sent);
      await sendResult(responseTo(sent, 1));
      const url = database.urls.owner;
      const owner = Postgres.connect({ api: url, worker: url }, { poolSize: 1 });
      await owner.workerPool.query(`CREATE FUNCTION away() RETURNS trigger LANGUAGE plpgsql AS
        $$ BEGIN RAISE 'too many connections' USING ERRCODE = '53300'; END $$`);
      await owner.workerPool.query(
        'CREATE TRIGGER away BEFORE UPDATE ON tool_call FOR EACH ROW EXECUTE FUNCTION away()',
      );
      await queue.rows(
        'UPDATE pgboss.job SET retry_count = 50, retry_delay = 0, retry_backoff = false WHERE name = $1',
        [TOOL_QUEUES.results],
      );
      const results = () => queue.platform.queues.find(TOOL_QUEUES.results, {});
      await queue.app.get(ToolResults).start();
      await eventually('it was refused', async () =>
        (await results()).some(({ state }) => state === 'retry') ? true : undefined,
      );
      await owner.workerPool.query('DROP TRIGGER away ON tool_call');
      await owner.close();
      expect(await queue.reached(sent, 'completed')).toMatchObject({ result: 'result of 1' });
    });

    it('becomes a dead letter when it is invalid or names no call', async () => {
      const sent = await queue.sendOne('once');
      await sendResult({ hello: 'world' });
      await sendResult(responseTo({ ...sent, id: newId() }, 1));
      const unreadable = { type: 'function_request', workspace_id: sent.workspaceId };
      await queue.platform.queues.send(null, TOOL_QUEUES.requests, [{ data: unreadable }]);
      await queue.app.get(ToolResults).start();
      queue.app.get(ToolWorker).start();
      const dead = await eventually('three letters are dead', async () => {
        const letters = await queue.app.get(DeadLetters).list(queue.workspaceId, { first: 10 });
        return letters.length === 3 ? letters : undefined;
      });
      expect(dead.map(({ reason }) => reason).sort()).toEqual(['unknown_call', 'unreadable', 'unreadable']);
    });
  });

  describe('response with files', () => {
    const text = 'a report';
    const entry = { hash: hashOf(Buffer.from(text)), mime: 'text/plain', name: 'a.txt', bytes: text.length };
    const content = JSON.stringify({ content: 'written', artifacts: [entry] });
    const files = [{ name: 'a.txt', mime: 'text/plain', data: btoa(text) }];
    const withFiles = (sent: SentCall, epoch = 1) =>
      responseTo(sent, epoch, { result: { content, success: true, files } });
    const storedFiles = () =>
      database.postgres.readInWorkspace(queue.workspaceId, { text: 'SELECT hash FROM stored_file' });

    it('stores no file of a rejected result', async () => {
      const restarted = await queue.sendOne('idempotent');
      await lose(restarted);
      await claim(restarted);
      const withdrawn = await queue.sendOne('once');
      await claim(withdrawn);
      await queue.rows('UPDATE tool_call SET cancel_requested_at = now(), exec_epoch = 2 WHERE id = $1', [
        withdrawn.id,
      ]);
      const cancelled = await queue.sendOne('once');
      await claim(cancelled);
      await queue.rows('UPDATE job SET cancel_requested_at = now() WHERE id = $1', [cancelled.jobId]);
      const decided = await queue.sendOne('once');
      await lose(decided);
      await sweep();
      await openUnknown(decided);
      await queue.rows(
        `UPDATE interrupt SET status = 'resolved', decided_at = now(), outcome = '{"outcome":"report"}'`,
      );
      for (const sent of [restarted, withdrawn, cancelled, decided]) expect(await apply(withFiles(sent))).toBe('done');
      expect(await apply(withFiles({ ...decided, id: newId() }))).toBe('unknown');
      expect(await storedFiles()).toEqual([]);
    });

    it('stores the files when it arrives late and resolves an unknown outcome', async () => {
      const sent = await queue.sendOne('once');
      await lose(sent);
      await sweep();
      await openUnknown(sent);
      await apply(withFiles(sent));
      expect(await queue.callOf(sent)).toMatchObject({ status: 'completed', result: content });
      expect(await storedFiles()).toEqual([{ hash: entry.hash }]);
    });

    it('becomes a dead letter without the contents of its files', async () => {
      const sent = await queue.sendOne('once');
      await sendResult(withFiles({ ...sent, id: newId() }));
      await sendResult({ ...withFiles({ ...sent, id: newId() }), attempt: 'first' });
      await queue.app.get(ToolResults).start();
      const dead = await eventually('two letters are dead', async () => {
        const found = await queue.platform.queues.find(TOOL_QUEUES.dead, { key: queue.workspaceId });
        return found.length === 2 ? JSON.stringify(found) : undefined;
      });
      expect(dead).toContain('a.txt');
      expect(dead).not.toContain(btoa(text));
      const letters = await queue.app.get(DeadLetters).list(queue.workspaceId, { first: 10 });
      expect(letters.map(({ reason }) => reason).sort()).toEqual(['unknown_call', 'unreadable']);
    });

    it('waits until the bucket responds and accepts its file, and delays no other result', async () => {
      const statuses: (number | null)[] = [null, 503, 200];
      const bucket = await startHttpTarget((_, response) => {
        const status = statuses.shift();
        if (typeof status === 'number') response.writeHead(status).end();
      });
      const { accessKeyId, secretAccessKey, region } = s3Key;
      const keys = { S3_ACCESS_KEY_ID: accessKeyId, S3_SECRET_ACCESS_KEY: secretAccessKey, S3_REGION: region };
      const env = { S3_BUCKET_URL: bucket.url, ...keys };
      const own = await openTestToolQueue(database, { workspaceId: queue.workspaceId, env });
      const clock = new ManualClock();
      own.app.get(SentFiles).clock = clock;
      const slow = await own.sendOne('once');
      // In the batch, the slow one may be anywhere.
      const others = await own.send(...Array<string>(12).fill('once'));
      await Promise.all([slow, ...others].map((sent) => claim(sent)));
      await sendResult(withFiles(slow));
      for (const other of others) await sendResult(responseTo(other, 1));
      await own.rows('UPDATE pgboss.job SET retry_delay = 0, retry_backoff = false WHERE name = $1', [
        TOOL_QUEUES.results,
      ]);
      await own.app.get(ToolResults).start();
      for (const other of others) await own.reached(other, 'completed');
      await eventually('the bucket gets a file', () => (bucket.requests.length > 0 ? true : undefined));
      expect([bucket.open(), await own.callOf(slow)]).toMatchObject([1, { status: 'running' }]);
      clock.advance(10_000);
      expect(await own.reached(slow, 'completed')).toMatchObject({ result: content });
      expect(bucket.requests).toHaveLength(3);
      await own.close();
      await bucket.close();
    });
  });

  describe('progress of a tool process', () => {
    it('appears in order and waits for a missing message', async () => {
      const sent = await queue.sendOne('pure');
      await claim(sent);
      expect(await apply(progressOf(sent, 2))).toEqual({ againInMs: expect.any(Number) });
      expect(await apply(progressOf(sent, 1))).toBe('done');
      await wait(sent);
      expect(await apply(progressOf(sent, 2))).toBe('done');
      expect(await apply(progressOf(sent, 1))).toBe('done');
      expect(await shown(sent)).toEqual([1, 2]);
    });

    it('continues without a missing message after five seconds', async () => {
      const sent = await queue.sendOne('pure');
      await claim(sent);
      expect(await apply(progressOf(sent, 3), 5_001)).toBe('done');
      await wait(sent);
      expect(await apply(progressOf(sent, 2))).toBe('done');
      expect(await apply(progressOf(sent, 4))).toBe('done');
      expect(await shown(sent)).toEqual([3, 4]);
    });

    it('appears at most twice a second', async () => {
      const sent = await queue.sendOne('pure');
      await claim(sent);
      await apply(progressOf(sent, 1));
      await hold(sent);
      expect(await apply(progressOf(sent, 2))).toEqual({ againInMs: expect.any(Number) });
      expect(await shown(sent)).toEqual([1]);
    });

    it('drops messages of an old epoch and after the response', async () => {
      const sent = await queue.sendOne('pure');
      await lose(sent);
      await claim(sent);
      expect(await apply(progressOf(sent, 1, 1))).toBe('done');
      await apply(responseTo(sent, 2));
      expect(await apply(progressOf(sent, 1, 2))).toBe('done');
      expect(await shown(sent)).toEqual([]);
    });

    it('leaves the answer counter of the job unchanged', async () => {
      const sent = await queue.sendOne('pure');
      await claim(sent);
      await apply(progressOf(sent, 1));
      expect(await queue.rows('SELECT answered FROM job WHERE id = $1', [sent.jobId])).toEqual([{ answered: 0 }]);
    });
  });

  /** What the job's next lease holder does about an interrupted call whose tool asks a person. */
  async function openUnknown({ workspaceId, jobId, id }: SentCall): Promise<void> {
    await database.prisma.withWorkspace({ workspaceId }, async (tx) => {
      await insertInterrupt(
        tx,
        { workspaceId, jobId },
        { id: newId(), kind: 'unknown_outcome', title: 'Did it happen?', request: {}, toolCallId: id },
      );
      await tx.job.updateMany({ where: { id: jobId }, data: { status: 'waiting' } });
    });
  }
});
