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
  const { owner } = await api.people.workspaceOf(`bell${worlds}`);
  const reconnect = { firstDelayMs: 5, maxDelayMs: 50 };
  client = createNightshift({ url: proxy.url, token: owner.key, reconnect });
}

/** A job that nobody watches, once its starter was told of its end. */
async function told(reply = textReply(['Done.'])): Promise<Notification> {
  model.enqueue(reply);
  const { id } = await client.startChat({ message: 'Go on' });
  return eventually('its end was told', async () => {
    const { nodes } = await client.notifications.list({}, { first: 1 });
    return nodes.find(({ jobId }) => jobId === id);
  });
}

describe('the notifications of a client', () => {
  it('are listed page by page, counted, and marked as read', async () => {
    const { notifications } = client;
    const [a, b, c] = [await told(), await told(errorReply(400)), await told()];
    expect([a.type, b.type, a.title, a.read]).toEqual(['JOB_COMPLETED', 'JOB_FAILED', 'Go on', false]);
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
    await expect(notifications.markRead(a.jobId)).rejects.toMatchObject({ code: 'not_found' });
    await expect(notifications.markAllRead({ upTo: a.jobId })).rejects.toMatchObject({ code: 'not_found' });
  });

  it('are delivered live and exactly once across lost connections', async () => {
    const before = await told();
    const stop = new AbortController();
    const heard: Notification[] = [];
    const watching = (async () => {
      for await (const one of client.notifications.watch({}, { signal: stop.signal })) heard.push(one);
    })();
    const hears = (count: number) => eventually(`${count} were told`, () => (heard.length >= count ? true : undefined));
    await hears(1);
    for (const cut of ['reset', 'torn', 'end'] as const) {
      const { cuts } = proxy;
      proxy.cut(cut);
      expect(proxy.cuts).toBeGreaterThan(cuts);
      const count = heard.length;
      await told();
      await hears(count + 1);
    }
    await client.notifications.markRead(before.id);
    await hears(5);
    const states = heard.map(({ id, read }) => `${id} ${String(read)}`);
    expect(states).toEqual([...new Set(states)]);
    expect(heard[0]).toEqual(before);
    expect(heard.at(-1)).toMatchObject({ id: before.id, read: true });
    stop.abort(new Error('enough'));
    await expect(watching).rejects.toThrow('enough');
  });

  it('are filtered by type in the live stream', async () => {
    const stop = new AbortController();
    const failed = client.notifications.watch({ type: { eq: 'JOB_FAILED' } }, { signal: stop.signal });
    const next = failed.next();
    await told();
    const { id } = await told(errorReply(400));
    expect((await next).value).toMatchObject({ id, type: 'JOB_FAILED' });
    stop.abort();
    await expect(failed.next()).rejects.toThrow();
  });
});
