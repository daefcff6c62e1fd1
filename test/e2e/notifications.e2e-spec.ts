import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { createNightshift, type Nightshift, type Notification } from '@nightshift/client';

import type { Role } from '#auth';
import { newId } from '#platform';

import { startTestApi, type TestApi, type TestMember } from '../harness/api.js';
import { createTestDatabase, type TestDatabase } from '../harness/database.js';
import { eventually } from '../harness/eventually.js';
import { ask, RawSocket } from '../harness/graphql.js';
import { type GraphqlMember, graphqlMember } from '../harness/graphql-member.js';
import { restJobs } from '../harness/rest-jobs.js';
import { ScriptedModel } from '../harness/scripted-model.js';
import { createGate, errorReply, textReply, toolCallReply } from '../harness/scripted-reply.js';
import { TcpProxy } from '../harness/tcp-proxy.js';

let database: TestDatabase;
let model: ScriptedModel;
let api: TestApi;
let here: Record<Role, TestMember>;
let member: GraphqlMember;
let worlds = 0;

beforeAll(async () => {
  database = await createTestDatabase();
  model = await ScriptedModel.start();
  api = await startTestApi(database, { env: { MODEL_BASE_URL: model.url } });
  await enterWorld();
});
afterEach(async () => {
  model.assertDone();
  await enterWorld();
});
afterAll(async () => {
  await api.close();
  await model.close();
  await database.close();
});

async function enterWorld(): Promise<void> {
  worlds += 1;
  here = await api.people.workspaceOf(`world${worlds}`);
  member = graphqlMember(api, here.member.key);
}

interface Shown {
  readonly id: string;
  readonly type: string;
  readonly jobId: string;
  readonly title: string;
  readonly read: boolean;
}

const FIELDS = `id type jobId rootJobId threadId interruptId title at read readAt job { id status } interrupt { id status }`;
const LIST = `query($first: Int, $after: String, $filter: NotificationFilterInput) {
  notifications(first: $first, after: $after, filter: $filter) {
    totalCount nodes { ${FIELDS} } pageInfo { hasNextPage endCursor }
  }
}`;
const MARK = `mutation($id: ID!) {
  markNotificationRead(input: { id: $id }) { notification { id read } userErrors { code } }
}`;

interface Page {
  readonly totalCount: number;
  readonly nodes: readonly Shown[];
  readonly pageInfo: { readonly hasNextPage: boolean; readonly endCursor: string };
}

const list = async (args: object = {}, who = member) => (await who.query(LIST, args))['notifications'] as Page;
const typesOf = ({ nodes }: { readonly nodes: readonly Shown[] }) => nodes.map(({ type }) => type);
const rest = (path: string, who = here.member) => api.call('GET', `/api/notifications${path}`, { key: who.key });
const read = (id: string, who = here.member) => api.call('POST', `/api/notifications/${id}/read`, { key: who.key });

/** A job that is answered. */
async function complete(): Promise<string> {
  model.enqueue(textReply(['Done.']));
  return (await member.run({ message: 'Continue' })).jobId ?? '';
}

/** A job that asks a person. */
async function askPerson(): Promise<string> {
  model.enqueue(toolCallReply([{ id: 'q', name: 'ask_person', arguments: '{"question":"Which size?"}' }]));
  return (await member.start({ message: 'Order', tools: ['ask_person'] })).jobId ?? '';
}

/** A subscription of a member. */
async function watchNotifications(who: TestMember, filter: object = {}) {
  const socket = await RawSocket.enter(api, who.key);
  const query = `subscription($filter: NotificationFilterInput) { notificationActivity(filter: $filter) { id type read jobId title } }`;
  socket.send({ id: '1', type: 'subscribe', payload: { query, variables: { filter } } });
  const itemOf = (payload: unknown) =>
    (payload as { readonly data?: { readonly notificationActivity?: Shown } } | undefined)?.data?.notificationActivity;
  const until = async (fits: (shown: Shown) => boolean): Promise<Shown | undefined> => {
    const { payload } = await socket.until((message) => {
      const item = itemOf(message.payload);
      return item !== undefined && fits(item);
    });
    return itemOf(payload);
  };
  const seen = () => socket.messages.flatMap(({ payload }) => itemOf(payload) ?? []);
  return { socket, until, seen };
}

describe('notifications', () => {
  it('report jobs without viewers over GraphQL and REST', async () => {
    const completed = await complete();
    model.enqueue(errorReply(400));
    const failed = (await member.run({ message: 'Break' })).jobId;
    const asking = await askPerson();
    const feed = await watchNotifications(here.member);
    await feed.until(({ type }) => type === 'INPUT_NEEDED');
    feed.socket.close();

    const { nodes, totalCount } = await list();
    expect(nodes).toMatchObject([
      { type: 'INPUT_NEEDED', jobId: asking, rootJobId: asking, title: 'Which size?', job: { id: asking } },
      { type: 'JOB_FAILED', jobId: failed, title: 'Break', job: { status: 'FAILED' }, interrupt: null },
      { type: 'JOB_COMPLETED', jobId: completed, title: 'Continue', read: false, readAt: null, interruptId: null },
    ]);
    expect(totalCount).toBe(3);
    const [asked] = nodes as readonly { readonly interruptId?: string; readonly interrupt?: { readonly id: string } }[];
    expect(asked?.interrupt).toMatchObject({ id: asked?.interruptId, status: 'OPEN' });
    const { status, body } = await rest('');
    expect(status).toBe(200);
    expect(body).toEqual({
      notifications: nodes.map(({ id, type, jobId, title }) =>
        expect.objectContaining({
          id,
          type: type.toLowerCase(),
          jobId,
          title,
          read: false,
          at: expect.any(Number) as unknown,
        }),
      ),
      nextCursor: null,
    });
  });

  it('omit jobs with a viewer and cancelled jobs', async () => {
    const gate = createGate();
    model.enqueue({ ...textReply(['Done.']), body: [gate, ...textReply(['Done.']).body] });
    const { jobId } = await member.start({ message: 'Continue' });
    const stream = await restJobs(api, here.member.key).watch(jobId ?? '');
    await stream.until(({ event }) => event === 'snapshot');
    gate.open();
    await stream.until(({ event }) => event === 'job-finished');
    stream.leave();
    const asking = await askPerson();
    const feed = await watchNotifications(here.member);
    await feed.until(({ type }) => type === 'INPUT_NEEDED');
    await member.query('mutation($id: ID!) { cancelJob(input: { jobId: $id }) { state } }', { id: asking });
    await member.finished(asking);
    feed.socket.close();
    expect(typesOf(await list())).toEqual(['INPUT_NEEDED']);
  });

  it('belong to one user: other users cannot read or mark them', async () => {
    await complete();
    const [shown] = (await list()).nodes;
    const id = shown?.id ?? '';
    const elsewhere = (await api.people.workspaceOf(`elsewhere${worlds}`)).owner;
    for (const who of [here.owner, here.viewer, elsewhere]) {
      const other = graphqlMember(api, who.key);
      expect((await list({}, other)).nodes).toEqual([]);
      expect((await rest('', who)).body).toEqual({ notifications: [], nextCursor: null });
      expect((await other.query(MARK, { id }))['markNotificationRead']).toEqual({
        notification: null,
        userErrors: [{ code: 'not_found' }],
      });
      expect(await read(id, who)).toMatchObject({
        status: 404,
        body: { code: 'not_found', error: 'Notification not found' },
      });
      await other.query('mutation { markAllNotificationsRead(input: {}) { marked } }');
    }
    for (const unknown of [newId(), 'nonsense']) expect((await read(unknown)).status).toBe(404);
    const blind = await api.people.keyOf(here.member.principal, ['write']);
    expect((await list({}, graphqlMember(api, blind.key))).nodes).toEqual([]);
    expect((await read(id, blind)).status).toBe(404);
    expect((await list({ filter: { read: false } })).totalCount).toBe(1);
    expect((await ask(api, LIST, {})).errors).toMatchObject([{ extensions: { code: 'UNAUTHENTICATED' } }]);
    expect((await api.call('GET', '/api/notifications')).status).toBe(401);
  });

  it('support marking one or all as read', async () => {
    await complete();
    await complete();
    await complete();
    const [a, b, c] = (await list()).nodes;
    const marked = { markNotificationRead: { notification: { id: a?.id, read: true }, userErrors: [] } };
    expect(await member.query(MARK, { id: a?.id })).toEqual(marked);
    expect(await member.query(MARK, { id: a?.id })).toEqual(marked);
    expect(await read(b?.id ?? '')).toMatchObject({
      status: 200,
      body: { id: b?.id, type: 'job_completed', read: true },
    });
    expect((await list({ filter: { read: false } })).nodes).toMatchObject([{ id: c?.id }]);
    expect((await rest('?read=true')).body).toMatchObject({ notifications: [{ id: a?.id }, { id: b?.id }] });
    const all = `mutation($upTo: ID) { markAllNotificationsRead(input: { upTo: $upTo }) { marked userErrors { code } } }`;
    await complete(); // while the user views the three
    expect(await member.query(all, { upTo: a?.id })).toEqual({
      markAllNotificationsRead: { marked: 1, userErrors: [] },
    });
    expect(await member.query(all, { upTo: newId() })).toEqual({
      markAllNotificationsRead: { marked: null, userErrors: [{ code: 'not_found' }] },
    });
    expect((await list({ filter: { read: false } })).totalCount).toBe(1);
    expect(await member.query(all)).toEqual({ markAllNotificationsRead: { marked: 1, userErrors: [] } });
    expect((await list({ filter: { read: false } })).totalCount).toBe(0);
  });

  it('list in pages and filter by type', async () => {
    for (let i = 0; i < 3; i += 1) await complete();
    model.enqueue(errorReply(400));
    await member.run({ message: 'Break' });
    const { nodes } = await list();
    const first = await list({ first: 3 });
    const second = await list({ first: 3, after: first.pageInfo.endCursor });
    expect([...first.nodes, ...second.nodes]).toEqual(nodes);
    expect([first.pageInfo.hasNextPage, second.pageInfo.hasNextPage]).toEqual([true, false]);
    expect(typesOf(await list({ filter: { type: { eq: 'JOB_FAILED' } } }))).toEqual(['JOB_FAILED']);
    expect(typesOf(await list({ filter: { type: { in: ['INPUT_NEEDED'] } } }))).toEqual([]);
    const page = (await rest('?limit=3')).body as {
      readonly nextCursor: string;
      readonly notifications: readonly Shown[];
    };
    const next = (await rest(`?limit=3&after=${page.nextCursor}`)).body as typeof page;
    expect([...page.notifications, ...next.notifications].map(({ id }) => id)).toEqual(nodes.map(({ id }) => id));
    expect((await rest('?type=job_failed')).body).toMatchObject({ notifications: [{ type: 'job_failed' }] });
    for (const query of ['?read=maybe', '?type=x', '?limit=101', '?read=true&read=true', '?after=x']) {
      expect([query, (await rest(query)).status]).toEqual([query, 400]);
    }
  });
});

describe('notificationActivity', () => {
  it('sends the unread notifications, then each new and each read one once', async () => {
    await complete();
    const [before] = (await list()).nodes;
    const feed = await watchNotifications(here.member);
    const stranger = await watchNotifications(here.owner);
    await feed.until(({ id }) => id === before?.id);
    const jobId = await complete();
    const written = await feed.until((shown) => shown.jobId === jobId);
    expect(written).toMatchObject({ type: 'JOB_COMPLETED', read: false, title: 'Continue' });
    await member.query(MARK, { id: before?.id });
    await feed.until(({ id, read: isRead }) => id === before?.id && isRead);
    expect(feed.seen().map(({ id, read: isRead }) => [id, isRead])).toEqual([
      [before?.id, false],
      [written?.id, false],
      [before?.id, true],
    ]);
    expect(stranger.seen()).toEqual([]);
    feed.socket.close();
    stranger.socket.close();
  });
});

describe('NightshiftClient with notifications', () => {
  let proxy: TcpProxy;
  let client: Nightshift;

  beforeAll(async () => {
    proxy = await TcpProxy.start(api.url);
  });
  beforeEach(() => {
    const reconnect = { firstDelayMs: 5, maxDelayMs: 50 };
    client = createNightshift({ url: proxy.url, token: here.owner.key, reconnect });
  });
  afterEach(() => {
    client.close();
  });
  afterAll(() => proxy.close());

  /** Runs a job without viewers; gives the notification of its end to its requester. */
  async function notified(reply = textReply(['Done.'])): Promise<Notification> {
    model.enqueue(reply);
    const { id } = await client.startChat({ message: 'Continue' });
    return eventually('the notification of its end is there', async () => {
      const { nodes } = await client.notifications.list({}, { first: 1 });
      return nodes.find(({ jobId }) => jobId === id);
    });
  }

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
