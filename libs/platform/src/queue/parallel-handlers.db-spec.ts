import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';

import { createTestDatabase, type TestDatabase } from '../../../../test/harness/database.js';
import { eventually } from '../../../../test/harness/eventually.js';
import { ManualClock } from '../clock.js';
import { Config } from '../config/config.js';
import { newId } from '../ids.js';
import { createLogger } from '../logger.js';
import { Metrics } from '../metrics/metrics.js';
import { ParallelHandlers } from './parallel-handlers.js';
import type { Delivery } from './queue-message.js';
import { Queues } from './queues.js';

const workspaceId = newId();

describe('ParallelHandlers', () => {
  let database: TestDatabase;
  let queues: Queues;
  const metrics = new Metrics();
  let handlers: ParallelHandlers<'webhook.deliver'> | undefined;
  /** Lets the handling of a delivery end. */
  const gates = new Map<string, () => void>();
  /** The test has ended: a message that is fetched from now on waits for no gate, since nothing would open it. */
  let isOver = false;
  const started: string[] = [];
  const ended: string[] = [];

  beforeAll(async () => {
    database = await createTestDatabase();
    const config = Config.from({ NODE_ENV: 'test', ROLE: 'worker' });
    const logger = createLogger({ level: 'silent' });
    queues = new Queues({ config, logger, metrics, postgres: database.postgres });
  });

  afterEach(async () => {
    isOver = true;
    for (const open of gates.values()) open();
    await handlers?.stop();
    isOver = false;
    gates.clear();
    started.length = ended.length = 0;
    await database.postgres.workerPool.query('DELETE FROM pgboss.job');
  });

  afterAll(async () => {
    await queues.stop();
    await database.close();
  });

  const send = (group: string, ids: readonly string[]) =>
    database.prisma.withWorkspace({ workspaceId }, (tx) =>
      queues.send(
        tx,
        'webhook.deliver',
        ids.map((deliveryId) => ({ data: { workspaceId, deliveryId, number: 0 }, group: { id: group } })),
      ),
    );

  /** Handles the queue. The messages that `isHeld` names wait for their gate. */
  const handle = async (limits: { slots: number; perGroup: number }, isHeld: (id: string) => boolean) => {
    const options = {
      queue: 'webhook.deliver',
      slots: limits.slots,
      groupConcurrency: { default: limits.perGroup },
    } as const;
    handlers = new ParallelHandlers(queues, options, async ({ data: { deliveryId } }) => {
      started.push(deliveryId);
      if (isHeld(deliveryId) && !isOver) await new Promise<void>((resolve) => gates.set(deliveryId, resolve));
      ended.push(deliveryId);
      return 'completed';
    });
    await handlers.start();
  };

  /** The queues, which count instead of waking a handler, and count what is fetched beside a handler. */
  const counting = () => {
    const counted: ConstructorParameters<typeof ParallelHandlers>[0] & { wakes: number; fetches: number } = {
      ...{ wakes: 0, fetches: 0 },
      handleEach: async (...registration) => {
        const handler = await queues.handleEach(...registration);
        return { stop: () => handler.stop(), wake: () => void (counted.wakes += 1) };
      },
      fetch: async (...query) => {
        const fetched = await queues.fetch(...query);
        counted.fetches += 1;
        return fetched;
      },
      handleFetched: (...fetched) => queues.handleFetched(...fetched),
      giveBack: (...given) => queues.giveBack(...given),
    };
    return counted;
  };

  const hasCount = (list: readonly string[], count: number) =>
    eventually(`${count} messages`, () => (list.length === count ? true : undefined));

  it('handles the messages of a fast group while those of a slow one never end', async () => {
    const [slow, fast] = [Array.from({ length: 4 }, newId), Array.from({ length: 6 }, newId)];
    await send('slow', slow);
    await send('fast', fast);
    await handle({ slots: 4, perGroup: 2 }, (id) => slow.includes(id));
    await hasCount(ended, fast.length);
    expect([...ended].sort()).toEqual([...fast].sort());
    expect(started.filter((id) => slow.includes(id)).length).toBeLessThanOrEqual(2);
  });

  it('handles as many messages at once as it has slots, and one more when a slot is free', async () => {
    const ids = Array.from({ length: 4 }, newId);
    await send('one', ids);
    await handle({ slots: 3, perGroup: 10 }, () => true);
    await hasCount(started, 3);
    handlers?.wake();
    expect(ended).toEqual([]);
    gates.get(started[0] ?? '')?.();
    await hasCount(started, 4);
    expect(ended).toEqual([started[0]]);
  });

  it('wakes an idle handler each second while the one that polls often is busy', async () => {
    const id = newId();
    const clock = new ManualClock();
    const options = { queue: 'webhook.deliver', slots: 3, groupConcurrency: { default: 10 } } as const;
    const counted = counting();
    handlers = new ParallelHandlers(counted, options, async () => {
      started.push(id);
      await new Promise<void>((resolve) => gates.set(id, resolve));
      return 'completed';
    });
    handlers.clock = clock;
    await handlers.start();
    await send('one', [id]);
    await hasCount(started, 1);
    for (const expected of [1, 2]) {
      clock.advance(1_000);
      await eventually('a handler is woken', () => (counted.wakes === expected ? true : undefined));
    }
    const stopped = handlers.stop();
    gates.get(id)?.();
    await stopped;
    expect(clock.pending).toBe(0);
  });

  /** Handles the queue as `handle` does, with a slot for each message whose group is not `full`. */
  const handleUnlessFull = async (run: (message: Delivery<'webhook.deliver'>) => Promise<void>) => {
    const counted = counting();
    const acquired = new Set<string | null>();
    handlers = new ParallelHandlers<'webhook.deliver'>(
      counted,
      {
        ...{ queue: 'webhook.deliver', slots: 2, groupConcurrency: { default: 10 } },
        acquire: ({ groupId }) => {
          if (groupId === 'full' || groupId === null) return undefined;
          acquired.add(groupId);
          return () => acquired.delete(groupId);
        },
      },
      async (message) => {
        await run(message);
        return 'completed';
      },
    );
    await handlers.start();
    return { counted, acquired };
  };

  it('gives back a message without a free slot, does not fetch it again at once, and handles another group', async () => {
    const [full, free] = [newId(), newId()];
    await send('full', [full]);
    const { counted, acquired } = await handleUnlessFull(async ({ data: { deliveryId } }) => {
      ended.push(deliveryId);
      return Promise.resolve();
    });
    await eventually('another message is looked for', () => (counted.fetches > 0 ? true : undefined));
    expect(counted.wakes).toBe(0);
    await send('free', [free]);
    await hasCount(ended, 1);
    await handlers?.stop();
    expect([ended, acquired.size]).toEqual([[free], 0]);
    const counts = await metrics.registry.metrics();
    expect(counts).toMatch(/nightshift_queue_messages_total\{queue="webhook.deliver",outcome="given-back"\} [1-9]/);
    const left = await queues.find('webhook.deliver', { data: { deliveryId: full } });
    expect(left).toMatchObject([{ state: 'created' }]);
  });

  it('reaches a group behind 30 full groups although messages of another group end each search', async () => {
    const [free, ticks] = [newId(), new Set<string>()];
    const tick = async () => {
      const deliveryId = newId();
      ticks.add(deliveryId);
      const data = { workspaceId, deliveryId, number: 0 };
      await queues.send(null, 'webhook.deliver', [{ data, group: { id: 'tick' }, priority: 1 }]);
    };
    const clock = new ManualClock();
    for (let n = 0; n < 30; n++) await send(`full-${n}`, [newId()]);
    await send('free', [free]);
    await tick();
    const options = { queue: 'webhook.deliver', slots: 3, groupConcurrency: { default: 10 } } as const;
    const acquire = ({ groupId }: Delivery<'webhook.deliver'>) =>
      groupId?.startsWith('full') === true ? undefined : () => undefined;
    handlers = new ParallelHandlers<'webhook.deliver'>(queues, { ...options, acquire }, async ({ data }) => {
      if (data.deliveryId === free) ended.push(free);
      else if (!isOver && ended.length === 0) {
        clock.advance(100);
        await tick();
      }
      return 'completed';
    });
    handlers.clock = clock;
    await handlers.start();
    await hasCount(ended, 1);
    expect(ticks.size).toBeGreaterThan(1);
  });

  it('returns a message without a group to the queue once per poll', async () => {
    const message = { data: { workspaceId, deliveryId: newId(), number: 0 } };
    await queues.send(null, 'webhook.deliver', [message]);
    const { counted } = await handleUnlessFull(() => Promise.resolve());
    await eventually('the message is given back', async () => {
      const [left] = await queues.find('webhook.deliver', {});
      return left?.state === 'created' && left.startedOn !== null ? true : undefined;
    });
    expect([counted.fetches, counted.wakes]).toEqual([0, 0]);
  });

  it('retries a message that was fetched beside a refused one and whose handler failed', async () => {
    const [full, free] = [newId(), newId()];
    await send('full', [full]);
    await send('free', [free]);
    await handleUnlessFull(() => Promise.reject(new Error('no network')));
    await eventually('the message is to be retried', async () => {
      const [left] = await queues.find('webhook.deliver', { data: { deliveryId: free } });
      return left?.state === 'retry' ? true : undefined;
    });
  });

  it('keeps a message that was fetched beside a refused one from other processes while it is handled', async () => {
    const [full, free] = [newId(), newId()];
    const clock = new ManualClock();
    queues.clock = clock;
    await send('full', [full]);
    await send('free', [free]);
    await handleUnlessFull(async ({ data: { deliveryId } }) => {
      started.push(deliveryId);
      await new Promise<void>((resolve) => gates.set(deliveryId, resolve));
    });
    await hasCount(started, 1);
    const { workerPool } = database.postgres;
    await workerPool.query(`UPDATE pgboss.job SET heartbeat_on = now() - interval '1 minute' WHERE state = 'active'`);
    clock.advance(5_000);
    await eventually('the heartbeat is refreshed', async () => {
      const { rowCount } = await workerPool.query(
        `SELECT 1 FROM pgboss.job WHERE state = 'active' AND heartbeat_on > now() - interval '30 seconds'`,
      );
      return rowCount === 1 ? true : undefined;
    });
    gates.get(free)?.();
    await eventually('the message is completed, and its heartbeat ends', async () => {
      const [left] = await queues.find('webhook.deliver', { data: { deliveryId: free } });
      return left?.state === 'completed' && clock.pending === 0 ? true : undefined;
    });
    expect(started).toEqual([free]);
  });

  it('waits in stop for the messages that are being handled, and can start again', async () => {
    const [first, second] = [newId(), newId()];
    await send('one', [first]);
    await handle({ slots: 2, perGroup: 10 }, (id) => id === first);
    await hasCount(started, 1);
    let isStopped = false;
    const stopped = handlers?.stop().then(() => {
      isStopped = true;
      return [...ended];
    });
    await database.postgres.workerPool.query('SELECT 1');
    expect(isStopped).toBe(false);
    gates.get(first)?.();
    expect(await stopped).toEqual([first]);
    await send('one', [second]);
    await handlers?.start();
    await hasCount(ended, 2);
  });
});
