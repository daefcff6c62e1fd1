import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { createNightshift, type Nightshift, type Notification } from '@nightshift/client';

import { startTestApi, type TestApi } from '../harness/api.js';
import { createTestDatabase, type TestDatabase } from '../harness/database.js';
import { eventually } from '../harness/eventually.js';
import { ScriptedModel } from '../harness/scripted-model.js';
import { errorReply, textReply } from '../harness/scripted-reply.js';
import { TcpProxy } from '../harness/tcp-proxy.js';

let database: TestDatabase;
let model: ScriptedModel;
let api: TestApi;
let proxy: TcpProxy;
let client: Nightshift;
let worlds = 0;

beforeAll(async () => {
  database = await createTestDatabase();
  model = await ScriptedModel.start();
  api = await startTestApi(database, { env: { MODEL_BASE_URL: model.url } });
  proxy = await TcpProxy.start(api.url);
  await enterWorld();
});
afterEach(async () => {
  model.assertDone();
  client.close();
  await enterWorld();
});
afterAll(async () => {
  client.close();
  await proxy.close();
  await api.close();
  await model.close();
  await database.close();
});

async function enterWorld(): Promise<void> {
  worlds += 1;
  const { owner } = await api.people.workspaceOf(`inbox${worlds}`);
  const reconnect = { firstDelayMs: 5, maxDelayMs: 50 };
  client = createNightshift({ url: proxy.url, token: owner.key, reconnect });
}

/** Runs a job without viewers; gives the notification of its end to its requester. */
async function notified(reply = textReply(['Done.'])): Promise<Notification> {
  model.enqueue(reply);
  const { id } = await client.startChat({ message: 'Continue' });
  return eventually('the notification of its end is there', async () => {
    const { nodes } = await client.notifications.list({}, { first: 1 });
    return nodes.find(({ jobId }) => jobId === id);
  });
}

describe('NightshiftClient notifications', () => {
  it('lists notifications page by page, counts them and marks them as read', async () => {
    const { notifications } = client;
    const [a, b, c] = [await notified(), await notified(errorReply(400)), await notified()];
    expect([a.type, b.type, a.title, a.read]).toEqual(['JOB_COMPLETED', 'JOB_FAILED', 'Continue', false]);
    const first = await notifications.list({ read: false }, { first: 2 });
    expect(first).toMatchObject({ nodes: [c, b], hasNextPage: true });
    const rest = await notifications.list({ read: false }, { after: first.endCursor ?? '' });
    expect(rest).toMatchObject({ nodes: [a], hasNextPage: false });
    expect((await notifications.list({ type: { eq: 'JOB_FAILED' } })).nodes).toEqual([b]);

    expect(await notifications.unreadCount()).toBe(3);
    expect(await notifications.markRead(b.id)).toMatchObject({ id: b.id, read: true });
    expect(await notifications.unreadCount()).toBe(2);
    expect(await notifications.markAllRead({ upTo: a.id })).toBe(1);
    expect(await notifications.markAllRead()).toBe(1);
    expect(await notifications.markAllRead()).toBe(0);
    expect(await notifications.unreadCount()).toBe(0);
    await expect(notifications.markRead(a.jobId ?? '')).rejects.toMatchObject({ code: 'not_found' });
    await expect(notifications.markAllRead({ upTo: a.jobId ?? '' })).rejects.toMatchObject({ code: 'not_found' });
  });

  it('delivers notifications live and exactly once across lost connections', async () => {
    const before = await notified();
    const stop = new AbortController();
    const received: Notification[] = [];
    const watching = (async () => {
      for await (const one of client.notifications.watch({}, { signal: stop.signal })) received.push(one);
    })();
    const receives = (count: number) =>
      eventually(`${count} notifications were received`, () => (received.length >= count ? true : undefined));
    await receives(1);
    for (const cut of ['reset', 'torn', 'end'] as const) {
      const { cuts } = proxy;
      proxy.cut(cut);
      expect(proxy.cuts).toBeGreaterThan(cuts);
      const count = received.length;
      await notified();
      await receives(count + 1);
    }
    await client.notifications.markRead(before.id);
    await receives(5);
    const states = received.map(({ id, read }) => `${id} ${String(read)}`);
    expect(states).toEqual([...new Set(states)]);
    expect(received[0]).toEqual(before);
    expect(received.at(-1)).toMatchObject({ id: before.id, read: true });
    stop.abort(new Error('enough'));
    await expect(watching).rejects.toThrow('enough');
  });

  it('filters the live stream by type', async () => {
    const stop = new AbortController();
    const failed = client.notifications.watch({ type: { eq: 'JOB_FAILED' } }, { signal: stop.signal });
    const next = failed.next();
    await notified();
    const { id } = await notified(errorReply(400));
    expect((await next).value).toMatchObject({ id, type: 'JOB_FAILED' });
    stop.abort();
    await expect(failed.next()).rejects.toThrow();
  });
});
