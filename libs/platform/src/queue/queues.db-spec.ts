import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';

import { createTestDatabase, type TestDatabase } from '../../../../test/harness/database.js';
import { eventually } from '../../../../test/harness/eventually.js';
import { Config } from '../config/config.js';
import { createLogger } from '../logger.js';
import { Metrics } from '../metrics/metrics.js';
import type { QueueHandler } from './queue-message.js';
import { handleEvery } from './queue-worker.js';
import { Queues } from './queues.js';

const WORKSPACE = '0190a0a0-0000-7000-8000-000000000000';
const queue = 'maintenance.retention' as const;

describe('Queues', () => {
  let database: TestDatabase;
  let queues: Queues;
  let metrics: Metrics;
  const handlers: QueueHandler[] = [];

  beforeAll(async () => {
    database = await createTestDatabase();
    const config = Config.from({ NODE_ENV: 'test', ROLE: 'worker' });
    const logger = createLogger({ level: 'silent' });
    metrics = new Metrics();
    queues = new Queues({ config, logger, metrics, postgres: database.postgres });
  });

  afterEach(async () => {
    for (const handler of handlers.splice(0)) await handler.stop();
    await database.postgres.workerPool.query('DELETE FROM pgboss.job; DELETE FROM pgboss.schedule');
  });

  afterAll(async () => {
    await queues.stop();
    await database.close();
  });

  const send = (startAfter?: number) =>
    database.prisma.withWorkspace({ workspaceId: WORKSPACE }, (tx) =>
      queues.send(tx, queue, [startAfter === undefined ? { data: null } : { data: null, startAfter }]),
    );

  /** Handles the queue; what was delivered is listed in the result. */
  const handle = async (work: () => void = () => undefined, pollSeconds = 0.5) => {
    const delivered: unknown[] = [];
    const handler = await queues.handle(queue, { pollSeconds }, async (messages) => {
      delivered.push(...messages);
      await Promise.resolve(messages).then(work);
    });
    handlers.push(handler);
    return { delivered, handler };
  };

  const states = async () =>
    (
      await database.postgres.workerPool.query<{ state: string }>('SELECT state FROM pgboss.job WHERE name = $1', [
        queue,
      ])
    ).rows.map(({ state }) => state);

  const becomes = (state: string) =>
    eventually(`the message is ${state}`, async () => ((await states()).join() === state ? true : undefined));

  it('delivers a message to the handler and completes it', async () => {
    await send();
    const { delivered } = await handle();

    await becomes('completed');
    expect(delivered).toEqual([null]);
    expect(await metrics.registry.metrics()).toContain(
      `nightshift_queue_messages_total{queue="${queue}",outcome="completed"}`,
    );
  });

  it('runs a sweep at once in a worker that starts, although an earlier run has sent the message for a later one', async () => {
    const sweep = { queue: 'maintenance.tool-queue', everyMs: 3_600_000 } as const;
    let runs = 0;
    const startWorker = async () => {
      const handler = await handleEvery(queues, sweep, () => Promise.resolve(void (runs += 1)));
      handlers.push(handler);
      return handler;
    };
    const first = await startWorker();
    await eventually('the first worker has swept', () => (runs === 1 ? true : undefined));
    await first.stop();

    await startWorker();
    await eventually('the second worker has swept', () => (runs === 2 ? true : undefined));
  });

  it('delivers all waiting messages without a poll between them', async () => {
    const jobs = Array.from({ length: 5 }, (_, slotAt) => ({ scheduleId: WORKSPACE, workspaceId: WORKSPACE, slotAt }));
    const sent = jobs.map((data) => ({ data }));
    await database.prisma.withWorkspace({ workspaceId: WORKSPACE }, (tx) => queues.send(tx, 'schedule.start', sent));
    const slots: number[] = [];
    const handler = await queues.handle('schedule.start', { pollSeconds: 3_600 }, (messages) => {
      slots.push(...messages.map(({ slotAt }) => slotAt));
      return Promise.resolve();
    });
    handlers.push(handler);
    await eventually('all messages are delivered', () => (slots.length === jobs.length ? true : undefined));
    expect(slots.toSorted((one, other) => one - other)).toEqual(jobs.map(({ slotAt }) => slotAt));
  });

  it('takes a message back when its transaction rolls back', async () => {
    const failing = database.prisma.withWorkspace({ workspaceId: WORKSPACE }, async (tx) => {
      await queues.send(tx, queue, [{ data: null }]);
      throw new Error('rolled back');
    });

    await expect(failing).rejects.toThrow('rolled back');
    expect(await states()).toEqual([]);
  });

  it('retries a message whose handler rejects', async () => {
    await send();
    await handle(() => {
      throw new Error('failed once');
    });

    await becomes('retry');
  });

  it('keeps the retries of a message that is given back more often than its queue retries', async () => {
    const data = { workspaceId: WORKSPACE, scheduleId: WORKSPACE };
    await queues.send(null, 'schedule.due', [{ data }]);
    const fetchOne = async () => {
      const [message] = await queues.fetch('schedule.due', {});
      if (message === undefined) throw new Error('no message was fetched');
      return message;
    };
    for (let times = 0; times < 5; times++) await queues.giveBack('schedule.due', await fetchOne());
    await queues.handleFetched('schedule.due', await fetchOne(), () => Promise.reject(new Error('failed once')));

    expect(await queues.find('schedule.due', {})).toMatchObject([{ state: 'retry', data }]);
  });

  it('delivers no message before its startAfter', async () => {
    await send(Date.now() + 3_600_000);
    const { delivered, handler } = await handle();
    await handler.stop();

    expect(delivered).toEqual([]);
    expect(await states()).toEqual(['created']);
  });

  it('fetches at once when it is woken', async () => {
    const { delivered, handler } = await handle(undefined, 3_600);
    await send();
    handler.wake();

    await becomes('completed');
    expect(delivered).toEqual([null]);
  });

  it('lets the role of the workers schedule a message for each minute', async () => {
    handlers.push(await queues.handleEachMinute(queue, () => Promise.resolve()));

    const { rows } = await database.postgres.workerPool.query('SELECT name, cron, timezone FROM pgboss.schedule');
    expect(rows).toEqual([{ name: queue, cron: '* * * * *', timezone: 'UTC' }]);
  });
});
