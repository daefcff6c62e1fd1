import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';

import { armCrashPoint, Config, ManualClock, newId } from '#platform';

import { createTestDatabase, type TestDatabase } from '../../../../../test/harness/database.js';
import { seedWorkspace } from '../../../../../test/harness/engine.js';
import { eventually } from '../../../../../test/harness/eventually.js';
import { openTestIdentities, type TestIdentities } from '../../../../../test/harness/identities.js';
import { openTestWebhooks, type TestWebhooks } from '../../../../../test/harness/webhooks.js';
import { DeliveriesRepository } from '../deliveries.repository.js';
import type { NewTriggerDelivery } from '../delivery.js';
import { DeliveryRate } from '../delivery-rate.js';
import { WebhookEndpoints } from '../webhook-endpoints.service.js';
import { Deliveries } from './deliveries.service.js';
import { DeliveryWorker } from './delivery-worker.js';

let database: TestDatabase;
let identities: TestIdentities;
let webhooks: TestWebhooks;
let receiver: TestWebhooks['receiver'];
let workspaceId: string;

beforeAll(async () => {
  database = await createTestDatabase();
  identities = openTestIdentities(database);
  webhooks = await openTestWebhooks(database);
  receiver = webhooks.receiver;
});
beforeEach(async () => {
  ({ workspaceId } = await seedWorkspace(database));
});
afterEach(async () => {
  await webhooks.reset();
});
afterAll(async () => {
  await webhooks.close();
  identities.auth.close();
  await database.close();
});

const deliveryOf = (changes: Partial<NewTriggerDelivery> = {}): NewTriggerDelivery => ({
  ...{ workspaceId, id: newId(), triggerId: 'on-message', type: 'create', body: '{"n":1}', orderKey: null },
  target: {
    ...{ url: receiver.url(), headers: {}, signature: 'syntrix', secretNames: [], concurrency: 16 },
    policy: { maxAttempts: 3, initialBackoffMs: 10, maxBackoffMs: 20, timeoutMs: 500 },
  },
  ...changes,
});
const add = (...deliveries: readonly NewTriggerDelivery[]) =>
  webhooks.platform.prisma.withWorkspace({ workspaceId }, async (tx) => {
    for (const delivery of deliveries) await webhooks.app.get(Deliveries).add(tx, delivery);
  });
interface StoredDelivery {
  readonly id: string;
  readonly status: string;
  readonly reason: string | null;
  readonly body: string;
  readonly attempts: number;
  readonly message: number;
  readonly log: readonly { readonly status: number | null; readonly error: string | null; readonly excerpt: string }[];
}
const rows = () =>
  database.postgres.withWorkspaceSql(workspaceId, async (client) => {
    const found = await client.query('SELECT * FROM webhook_delivery WHERE workspace_id = $1 ORDER BY ordinal', [
      workspaceId,
    ]);
    return found.rows as StoredDelivery[];
  });
/** Adds deliveries of events of jobs, as the statements that write events do: without the lock of the order. */
const addEvents = async (endpointId: string, events: readonly { readonly jobId: string; readonly body: string }[]) => {
  for (const { jobId, body } of events) {
    const id = newId();
    await database.postgres.withWorkspaceSql(workspaceId, (client) =>
      client.query(
        `INSERT INTO webhook_delivery (workspace_id, id, endpoint_id, type, job_id, order_key, body, next_at)
         VALUES ($1, $2, $3, 'node.finished', $4, $5, $6, clock_timestamp())`,
        [workspaceId, id, endpointId, jobId, `${endpointId}/${jobId}`, body],
      ),
    );
    const message = { id, data: { workspaceId, deliveryId: id, number: 0 }, group: { id: endpointId } };
    await webhooks.platform.queues.send(null, 'webhook.deliver', [message]);
  }
};
/** An endpoint of a new workspace, which is `workspaceId` from now on. */
const newEndpoint = async (): Promise<string> => {
  const { admin } = await identities.workspaceOf(newId());
  ({ workspaceId } = admin);
  const { endpoint } = await webhooks.app.get(WebhookEndpoints).save(admin, null, {
    ...{ url: receiver.url(), description: '', events: ['node.finished'], enabled: true, signature: 'standard' },
    ...{ headers: {}, onlyUnwatched: false, includeContent: false },
  });
  return endpoint.id;
};
const finished = (count: number) =>
  eventually(`${count} deliveries have ended`, async () => {
    const stored = await rows();
    return stored.filter(({ status }) => status !== 'pending').length === count ? stored : undefined;
  });

describe('Deliveries', () => {
  it('sends a webhook once, and stores nothing for a second one with its id', async () => {
    const delivery = deliveryOf();
    await add(delivery);
    await add(delivery);
    await webhooks.app.get(DeliveryWorker).start();
    const [row] = await finished(1);
    expect(row).toMatchObject({ status: 'delivered', attempts: 1, reason: null });
    expect(row?.log).toMatchObject([{ status: 200, error: null, excerpt: 'ok' }]);
    expect(receiver.received.map(({ body }) => body.toString())).toEqual(['{"n":1}']);
    expect(receiver.received[0]?.headers).toMatchObject({
      'content-type': 'application/json',
      'user-agent': 'Nightshift-Webhooks/1',
    });
  });

  it('keeps triggers of the same name in two databases apart', async () => {
    const { admin } = await identities.workspaceOf(newId());
    ({ workspaceId } = admin);
    const of = (database: string) =>
      deliveryOf({ target: { ...deliveryOf().target, trigger: { id: newId(), database } } });
    const [here, there] = [of('here'), of('there')];
    const repository = webhooks.app.get(DeliveriesRepository);
    const messages = await repository.inWorkspace(workspaceId, async (tx) => [
      ...(await repository.insert(tx, here, Date.now())),
      ...(await repository.insert(tx, there, Date.now())),
    ]);
    const groups = [here, there].map(({ target }) => `${workspaceId}/${target.trigger?.id ?? ''}`);
    expect(messages.map(({ group }) => group?.id)).toEqual(groups);
    const filter = { triggerId: here.triggerId, database: 'here' };
    const { items } = await webhooks.app.get(WebhookEndpoints).deliveries(admin, filter, { first: 10 });
    expect(items.map(({ id }) => id)).toEqual([here.id]);
    await repository.inWorkspace(workspaceId, (tx) => webhooks.platform.queues.send(tx, 'webhook.deliver', messages));
    await webhooks.app.get(DeliveryWorker).start();
    await finished(2);
  });

  it('does not send a delivery whose transaction is rolled back', async () => {
    const failing = webhooks.platform.prisma.withWorkspace({ workspaceId }, async (tx) => {
      await webhooks.app.get(Deliveries).add(tx, deliveryOf());
      throw new Error('rolled back');
    });
    await expect(failing).rejects.toThrow('rolled back');
    await add(deliveryOf());
    await webhooks.app.get(DeliveryWorker).start();
    expect(await finished(1)).toHaveLength(1);
  });

  it('makes a delivery whose secret does not exist a dead letter, and sends nothing', async () => {
    await add(deliveryOf({ target: { ...deliveryOf().target, secretNames: ['MISSING'] } }));
    await webhooks.app.get(DeliveryWorker).start();
    expect(await finished(1)).toMatchObject([{ status: 'dead', reason: 'secret_missing', log: [] }]);
    expect(receiver.received).toEqual([]);
  });

  it('makes a delivery whose secret cannot be opened a dead letter, and sends the next one of its order', async () => {
    await database.postgres.withWorkspaceSql(workspaceId, (client) =>
      client.query(
        `INSERT INTO workspace_secret (workspace_id, id, name, cipher, created_by) VALUES ($1, $2, 'DAMAGED', $3, 'test')`,
        [workspaceId, newId(), Buffer.alloc(64)],
      ),
    );
    const { target } = deliveryOf();
    await add(
      deliveryOf({ orderKey: 'one', target: { ...target, secretNames: ['DAMAGED'] } }),
      deliveryOf({ orderKey: 'one' }),
    );
    await webhooks.app.get(DeliveryWorker).start();
    expect(await finished(2)).toMatchObject([
      { status: 'dead', reason: 'secret_unreadable', log: [] },
      { status: 'delivered' },
    ]);
  });

  it.each(['http://10.0.0.1/hook', 'http://[::ffff:169.254.169.254]/', 'http://127.0.0.1:22/', 'ftp://127.0.0.1/'])(
    'makes a delivery to %s a dead letter',
    async (url) => {
      await add(deliveryOf({ target: { ...deliveryOf().target, url } }));
      await webhooks.app.get(DeliveryWorker).start();
      expect(await finished(1)).toMatchObject([{ status: 'dead', reason: 'blocked_address', log: [] }]);
      expect(receiver.received).toEqual([]);
    },
  );

  it('makes a delivery with a header that cannot be sent a dead letter, and stores the reason', async () => {
    await add(deliveryOf({ target: { ...deliveryOf().target, headers: { 'X-Team': 'a\nb' } } }));
    await webhooks.app.get(DeliveryWorker).start();
    expect(await finished(1)).toMatchObject([{ status: 'dead', reason: 'outbound_request_invalid', log: [] }]);
    expect(receiver.received).toEqual([]);
  });

  it('delivers 500 webhooks of triggers and 50 of jobs to a server that fails, hangs, limits and breaks off, in the order of their keys, and so its dead letters again', async () => {
    const endpointId = await newEndpoint();
    const kinds = ['ok', 'fails', 'hangs', 'limits', 'breaks', 'dies'];
    const seen = new Map<string, number>();
    const delivered = new Map<string, number[]>();
    receiver.answer = (response, { body }) => {
      const { key, n, kind } = JSON.parse(body.toString()) as { key: string; n: number; kind: string };
      const times = (seen.get(`${key} ${n}`) ?? 0) + 1;
      seen.set(`${key} ${n}`, times);
      if (kind === 'dies') return void response.writeHead(500).end('never');
      if (kind === 'refused') return void response.writeHead(400).end();
      if (kind === 'ok' || times > 1) {
        delivered.set(key, [...(delivered.get(key) ?? []), n]);
        return void response.writeHead(204).end();
      }
      if (kind === 'hangs') return;
      if (kind === 'fails') return void response.writeHead(503).end();
      if (kind === 'limits') return void response.writeHead(429, { 'retry-after': '0' }).end();
      response.writeHead(200, { 'content-length': '100' });
      response.write('some', () => response.destroy());
    };
    const keys = Array.from({ length: 50 }, (_, i) => `document ${i}`);
    const { target: usual } = deliveryOf();
    // On a slow machine a good answer may come too late several times, so only the server that always fails may use up the attempts.
    const target = { ...usual, policy: { ...usual.policy, maxAttempts: 8 } };
    const jobIds = Array.from({ length: 10 }, () => newId());
    for (let n = 0; n < 10; n++) {
      const events = jobIds.map((jobId, i) => {
        const kind = n === i % 5 ? 'fails' : (i + n) % 3 === 0 ? 'refused' : 'ok'; // an endpoint's first retry is 5 s later
        return { jobId, body: JSON.stringify({ key: jobId, n, kind }) };
      });
      if (n < 5) await addEvents(endpointId, events);
      await add(
        ...keys.map((key, i) => {
          const kind = kinds[(i + n) % kinds.length] ?? 'ok';
          return deliveryOf({ orderKey: key, body: JSON.stringify({ key, n, kind }), target });
        }),
      );
    }
    await webhooks.app.get(DeliveryWorker).start();
    const stored = await finished(550);
    const kindOf = ({ body }: StoredDelivery) => (JSON.parse(body) as { kind: string }).kind;
    const dead = stored.filter(({ status }) => status === 'dead');
    const dying = stored.filter((row) => ['dies', 'refused'].includes(kindOf(row)));
    expect(dead.map(({ id }) => id)).toEqual(dying.map(({ id }) => id));
    for (const row of dead)
      expect([kindOf(row), row.attempts]).toEqual(kindOf(row) === 'dies' ? ['dies', 8] : ['refused', 1]);
    expect(stored.filter(({ status }) => status === 'delivered')).toHaveLength(550 - dead.length);
    for (const key of [...keys, ...jobIds])
      expect(delivered.get(key)).toEqual([...(delivered.get(key) ?? [])].sort((a, b) => a - b));
    // An answer that came too late counts as failed, so a consumer may get a webhook twice.
    const distinct = [...delivered.values()].map((numbers) => new Set(numbers).size);
    expect(distinct.reduce((sum, size) => sum + size, 0)).toBe(550 - dead.length);
    expect(receiver.mostOpen).toBeLessThanOrEqual(32);

    const again: string[] = [];
    receiver.answer = (response, { body }) => {
      again.push(body.toString());
      response.writeHead(204).end();
    };
    const repository = webhooks.app.get(DeliveriesRepository);
    await repository.inWorkspace(workspaceId, async (tx) => {
      const ids = dead.map(({ id }) => id).reverse();
      const { messages } = await repository.redeliver(tx, { workspaceId, ids, now: Date.now() });
      await webhooks.platform.queues.send(tx, 'webhook.deliver', messages);
    });
    await finished(550);
    const byKey = (bodies: readonly string[]) =>
      Object.groupBy(bodies, (body) => (JSON.parse(body) as { key: string }).key);
    expect(byKey(again)).toEqual(byKey(dead.map(({ body }) => body)));
  });

  it('sends a dead letter again before later deliveries of its document, without delaying another document', async () => {
    let answer: 'refuse' | 'fail' | 'accept' = 'refuse';
    const arrived: string[] = [];
    receiver.answer = (response, { body }) => {
      const text = body.toString();
      arrived.push(text);
      const status = answer === 'accept' ? 204 : answer === 'refuse' && text === '"first"' ? 400 : 503;
      response.writeHead(status).end();
    };
    const { target } = deliveryOf();
    const retried = {
      ...target,
      policy: { ...target.policy, maxAttempts: 20, initialBackoffMs: 1_000, maxBackoffMs: 1_000 },
    };
    const [first, later] = [deliveryOf({ orderKey: 'doc', body: '"first"', target }), newId()];
    await add(first, deliveryOf({ id: later, orderKey: 'doc', body: '"later"', target: retried }));
    await webhooks.app.get(DeliveryWorker).start();
    await eventually('the first one is dead, and the later one has failed', async () => {
      const [one, two] = await rows();
      return one?.status === 'dead' && (two?.attempts ?? 0) > 0 ? true : undefined;
    });
    arrived.length = 0;
    answer = 'accept';
    const repository = webhooks.app.get(DeliveriesRepository);
    await repository.inWorkspace(workspaceId, async (tx) => {
      const { messages } = await repository.redeliver(tx, { workspaceId, ids: [first.id], now: Date.now() + 2_000 });
      await webhooks.platform.queues.send(tx, 'webhook.deliver', messages);
    });
    await add(deliveryOf({ orderKey: 'other', body: '"other"' }));
    expect((await finished(3)).map(({ status }) => status)).toEqual(['delivered', 'delivered', 'delivered']);
    expect(arrived).toEqual(['"other"', '"first"', '"later"']);
  });

  it('sends a webhook of a job that is written while the end of the one before is not committed', async () => {
    const endpointId = await newEndpoint();
    const [repository, jobId] = [webhooks.app.get(DeliveriesRepository), newId()];
    const dueOf = async (n: number) => {
      const row = (await rows())[n];
      return repository.findDue({ workspaceId, deliveryId: row?.id ?? '' }, row?.message ?? 0);
    };
    await addEvents(endpointId, [{ jobId, body: '1' }]);
    const first = await dueOf(0);
    if (first === null) throw new Error('it is the first one');
    const [ended, checked] = [Promise.withResolvers<undefined>(), Promise.withResolvers<undefined>()];
    const ending = repository.inWorkspace(workspaceId, async (tx) => {
      const settlement = { status: 'delivered', reason: null, nextAt: null, attempt: null, now: Date.now() } as const;
      expect(await repository.settle(tx, first, settlement)).toEqual([]);
      ended.resolve(undefined);
      await checked.promise;
    });
    await ended.promise;
    await addEvents(endpointId, [{ jobId, body: '2' }]);
    const next = dueOf(1);
    const waiting = `SELECT 1 FROM pg_locks WHERE locktype = 'advisory' AND NOT granted`;
    await eventually('it waits for the end of the one before', async () => (await webhooks.rows(waiting))[0]);
    checked.resolve(undefined);
    await ending;
    expect(await next).toMatchObject({ body: '2' });
    await webhooks.app.get(DeliveryWorker).start();
    await finished(2);
  });

  it('sends a delivery again with the same id if its process dies between the response and its record', async () => {
    const settings = { NODE_ENV: 'test', CRASH_POINT: 'webhook-sent:throw' };
    armCrashPoint(Config.from(settings));
    const delivery = deliveryOf();
    await add(delivery);
    await webhooks.app.get(DeliveryWorker).start();
    expect(await finished(1)).toMatchObject([{ status: 'delivered', attempts: 1 }]);
    expect(receiver.received.map(({ body }) => body.toString())).toEqual([delivery.body, delivery.body]);
  });

  it('postpones deliveries over the rate of their trigger, in their order and without an attempt', async () => {
    const rates = webhooks.app.get(DeliveryRate);
    const { counter } = rates;
    let window = { used: 0, sent: 0 };
    rates.counter = { add: (_, points) => Promise.resolve({ used: (window.used += points), msLeft: 1 }) };
    const order: string[] = [];
    receiver.answer = (response, { body }) => {
      window.sent += 1;
      order.push(body.toString());
      response.writeHead(200).end();
    };
    const target = { ...deliveryOf().target, rate: { key: 'on-message', limit: 2 } };
    const bodies = ['"a1"', '"b1"', '"c1"', '"a2"', '"b2"'];
    await add(...bodies.map((body) => deliveryOf({ body, orderKey: body.slice(1, 2), target })));
    await webhooks.app.get(DeliveryWorker).start();
    for (const count of [2, 4]) {
      const stored = await eventually('deliveries are postponed', async () => {
        const pending = (await rows()).filter(({ status }) => status === 'pending');
        return pending.length === 5 - count && pending.some(({ message }) => message > 1) ? pending : undefined;
      });
      expect(stored.every(({ attempts, reason, log }) => attempts === 0 && reason === null && log.length === 0)).toBe(
        true,
      );
      expect(window.sent).toBe(2);
      window = { used: 0, sent: 0 };
    }
    expect((await finished(5)).every(({ status, attempts }) => status === 'delivered' && attempts === 1)).toBe(true);
    for (const key of ['a', 'b']) expect(order.filter((body) => body[1] === key)).toEqual([`"${key}1"`, `"${key}2"`]);
    rates.counter = counter;
  });

  it('delivers all webhooks of a trigger with a rate of one in a second', async () => {
    const target = { ...deliveryOf().target, rate: { key: newId(), limit: 1 } };
    await add(deliveryOf({ target }), deliveryOf({ target }), deliveryOf({ target }));
    await webhooks.app.get(DeliveryWorker).start();
    expect((await finished(3)).map(({ status, attempts }) => [status, attempts])).toEqual(
      Array.from({ length: 3 }, () => ['delivered', 1]),
    );
  });

  it('sends messages of overdue deliveries again', async () => {
    await add(deliveryOf());
    await database.postgres.workerPool.query('DELETE FROM pgboss.job');
    const clock = new ManualClock(Date.now() + 120_000);
    const deliveries = webhooks.app.get(Deliveries);
    deliveries.clock = clock;
    await deliveries.sweep();
    await deliveries.sweep();
    const { rows: messages } = await database.postgres.workerPool.query('SELECT 1 FROM pgboss.job WHERE name = $1', [
      'webhook.deliver',
    ]);
    expect(messages).toHaveLength(1);
  });
});
