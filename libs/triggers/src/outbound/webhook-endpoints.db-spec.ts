import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';

import type { MemberPrincipal, Role } from '#auth';
import { ManualClock, newId, Secret } from '#platform';

import { createTestDatabase, type TestDatabase } from '../../../../test/harness/database.js';
import { eventually } from '../../../../test/harness/eventually.js';
import { openTestIdentities, type TestIdentities } from '../../../../test/harness/identities.js';
import { openTestWebhooks, type TestWebhooks } from '../../../../test/harness/webhooks.js';
import { isSignedBy } from '../signature.js';
import { Deliveries } from './deliveries/deliveries.service.js';
import { DeliverySender } from './deliveries/delivery-sender.js';
import { DeliveryWorker } from './deliveries/delivery-worker.js';
import type { WebhookEndpoint, WebhookEvent } from './webhook-endpoint.js';
import { WebhookEndpoints } from './webhook-endpoints.service.js';

const hour = 3_600_000;

let database: TestDatabase;
let identities: TestIdentities;
let webhooks: TestWebhooks;
let here: Record<Role, MemberPrincipal>;
let clock: ManualClock;

beforeAll(async () => {
  database = await createTestDatabase();
  identities = openTestIdentities(database);
  // More than one endpoint may take, and more than one workspace.
  webhooks = await openTestWebhooks(database, { WEBHOOK_SLOTS: '6', WEBHOOK_SLOTS_PER_WORKSPACE: '5' });
});
beforeEach(async () => {
  here = await identities.workspaceOf(newId());
  clock = new ManualClock(Date.now());
  for (const service of [Deliveries, DeliverySender, WebhookEndpoints]) webhooks.app.get(service).clock = clock;
  webhooks.app.get(DeliverySender).random = () => 0.5;
});
afterEach(async () => {
  await webhooks.reset();
});
afterAll(async () => {
  await webhooks.close();
  identities.auth.close();
  await database.close();
});

const service = () => webhooks.app.get(WebhookEndpoints);
const endpointOf = (changes: object = {}) => ({
  ...{ url: webhooks.receiver.url(), description: '', events: ['job.failed'] as WebhookEvent[], enabled: true },
  ...{ signature: 'standard' as const, headers: {}, onlyUnwatched: false, includeContent: false },
  ...changes,
});
const save = async (changes: object = {}) => {
  const { endpoint, secret } = await service().save(here.admin, null, endpointOf(changes));
  return { ...endpoint, secret: secret?.reveal() ?? '' };
};
/** The log of an endpoint, newest first. */
const log = async ({ id }: Pick<WebhookEndpoint, 'id'>) =>
  (await service().deliveries(here.admin, { endpointId: id }, { first: 100 })).items;
/** Handles the newest message of a delivery, as the worker does when it is due. */
const send = async (deliveryId: string) => {
  const { workspaceId } = here.owner;
  const [row] = await webhooks.rows<{ message: number }>('SELECT message FROM webhook_delivery WHERE id = $1', [
    deliveryId,
  ]);
  await webhooks.app.get(DeliverySender).send({ workspaceId, deliveryId }, row?.message ?? 0);
};
const signedBy = (secrets: readonly string[]) => {
  const last = webhooks.receiver.received.at(-1);
  return last !== undefined && isSignedBy(secrets, last, { now: clock.now() });
};

describe('WebhookEndpoints', () => {
  it('lets owners and admins manage endpoints, and no one else', async () => {
    const { id } = await save();
    expect(await service().list(here.owner)).toMatchObject([{ id, url: webhooks.receiver.url() }]);
    for (const role of ['member', 'viewer'] as const) {
      const attempts = [
        () => service().list(here[role]),
        () => service().get(here[role], id),
        () => service().save(here[role], null, endpointOf()),
        () => service().rotate(here[role], id),
        () => service().test(here[role], id),
        () => service().remove(here[role], id),
        () => service().deliveries(here[role], {}, { first: 1 }),
        () => service().redeliverDead(here[role], {}),
      ];
      for (const attempt of attempts)
        await expect((async () => attempt())()).rejects.toMatchObject({ retryable: false });
    }
    const other = await identities.workspaceOf(newId());
    await expect(service().get(other.owner, id)).rejects.toMatchObject({ code: 'not_found' });
  });

  it.each([
    'http://10.0.0.1/',
    'https://user:key@example.com/',
    'https://example.com/#part',
    'ftp://example.com/',
    'nonsense',
  ])('does not save the URL %s', async (url) => {
    await expect(save({ url })).rejects.toMatchObject({ code: 'bad_request', field: 'url' });
  });

  it.each([
    ['https://10.0.0.1:8443/', 'OUTBOUND_PORTS'],
    ['https://10.0.0.1/', 'WEBHOOKS_ALLOW_CIDRS'],
  ])('names the setting that would allow the URL %s', async (url, setting) => {
    await expect(save({ url })).rejects.toMatchObject({ message: expect.stringContaining(setting) });
  });

  it('signs with the secret that it returned once, and with the old and the new secret for 24 hours after a rotation', async () => {
    const { secret, id } = await save();
    await send((await service().test(here.admin, id)).id);
    expect(signedBy([secret])).toBe(true);
    const rotated = (await service().rotate(here.admin, id)).secret?.reveal() ?? '';
    await send((await service().test(here.admin, id)).id);
    expect([signedBy([secret]), signedBy([rotated])]).toEqual([true, true]);
    clock.advance(24 * hour + 1);
    await send((await service().test(here.admin, id)).id);
    expect([signedBy([secret]), signedBy([rotated])]).toEqual([false, true]);
  });

  it('signs with each of the last five secrets for 24 hours after its rotation', async () => {
    const { secret, id } = await save();
    const secrets = [secret];
    for (let i = 0; i < 6; i++) {
      secrets.push((await service().rotate(here.admin, id)).secret?.reveal() ?? '');
      clock.advance(hour);
    }
    const signing = async () => {
      await send((await service().test(here.admin, id)).id);
      return secrets.map((one) => signedBy([one]));
    };
    expect(await signing()).toEqual([false, true, true, true, true, true, true]);
    clock.advance(20 * hour - 1); // until the third secret, replaced after 2 hours, has signed for 24 hours
    expect(await signing()).toEqual([false, false, true, true, true, true, true]);
    clock.advance(1);
    expect(await signing()).toEqual([false, false, false, true, true, true, true]);
    clock.advance(3 * hour);
    expect(await signing()).toEqual([false, false, false, false, false, false, true]);
  });

  it('signs with the new secret only, if the one before cannot be opened', async () => {
    const { id } = await save();
    await webhooks.platform.prisma.withWorkspace(here.admin, (tx) =>
      tx.webhookEndpoint.updateMany({ where: { id }, data: { secretCipher: new Uint8Array(64) } }),
    );
    const rotated = (await service().rotate(here.admin, id)).secret?.reveal() ?? '';
    await send((await service().test(here.admin, id)).id);
    expect(signedBy([rotated])).toBe(true);
  });

  it.each([
    ['standard', `whsec_${Buffer.alloc(24, 'k').toString('base64')}`],
    ['both', `whsec_${Buffer.alloc(64, 'k').toString('base64')}`],
    ['syntrix', 'a secret in plain text 24'.replaceAll(' ', '-')],
    ['syntrix', 'x'.repeat(75)],
  ])('signs in the style %s with the secret %s that a user chose, and never returns it', async (signature, own) => {
    const given = endpointOf({ signature });
    const { endpoint, secret } = await service().save(here.admin, null, { ...given, secret: new Secret(own) });
    expect(secret).toBeNull();
    await send((await service().test(here.admin, endpoint.id)).id);
    expect(signedBy([own])).toBe(true);
    const next = own.replace(/^(whsec_)?..../, '$1AAAA');
    const rotated = await service().rotate(here.admin, endpoint.id, new Secret(next));
    expect(rotated.secret).toBeNull();
    webhooks.receiver.answer = (response) => response.writeHead(200).end(`${own} ${next}`);
    await send((await service().test(here.admin, endpoint.id)).id);
    expect([signedBy([own]), signedBy([next])]).toEqual([true, true]);
    expect((await log(endpoint))[0]?.log[0]?.excerpt).toBe('[redacted] [redacted]');
    expect(JSON.stringify([rotated, await service().get(here.admin, endpoint.id)])).not.toContain(own);
  });

  it.each([
    ['standard', 'a-text-that-is-not-base-64'],
    ['standard', `whsec_${Buffer.alloc(23).toString('base64')}`],
    ['both', `whsec_${Buffer.alloc(65).toString('base64')}`],
    ['standard', `whsec_${Buffer.alloc(32).toString('base64').replace('=', '')}`],
    ['syntrix', 'x'.repeat(23)],
    ['syntrix', 'x'.repeat(76)],
    ['syntrix', 'a secret that has some spaces'],
  ])('refuses, for the style %s, the secret %s', async (signature, own) => {
    const refused = { code: 'bad_request', field: 'secret' };
    const secret = new Secret(own);
    await expect(service().save(here.admin, null, { ...endpointOf({ signature }), secret })).rejects.toMatchObject(
      refused,
    );
    const { id } = await save({ signature });
    await expect(service().rotate(here.admin, id, secret)).rejects.toMatchObject(refused);
  });

  it('refuses to save an endpoint with another secret, or with a style that its secret does not fit', async () => {
    const given = endpointOf({ signature: 'syntrix' });
    const own = new Secret('a-secret-of-24-characters');
    const { endpoint } = await service().save(here.admin, null, { ...given, secret: own });
    const saved = (changes: object) => service().save(here.admin, endpoint.id, { ...given, ...changes });
    await expect(saved({ secret: own })).rejects.toMatchObject({ code: 'bad_request', field: 'secret' });
    await expect(saved({ signature: 'both' })).rejects.toMatchObject({ code: 'bad_request', field: 'signature' });
    await service().rotate(here.admin, endpoint.id);
    expect(await saved({ signature: 'both' })).toMatchObject({ endpoint: { signature: 'both' }, secret: null });
  });

  it.each(['text', ['a'], { Host: 'a' }, { 'X-Team': 1 }])('does not save the headers %j', async (headers) => {
    await expect(save({ headers })).rejects.toMatchObject({ code: 'bad_request', field: 'headers' });
  });

  it('sends its own headers, which do not replace those of the webhook', async () => {
    const { id } = await save({ headers: { 'X-Team': 'a', 'User-Agent': 'other', 'webhook-id': 'mine' } });
    const delivery = await service().test(here.admin, id);
    await send(delivery.id);
    expect(webhooks.receiver.received[0]?.headers).toMatchObject({
      'x-team': 'a',
      'user-agent': 'Nightshift-Webhooks/1',
      'webhook-id': delivery.id,
    });
    expect(JSON.parse(webhooks.receiver.received[0]?.body.toString() ?? '')).toMatchObject({ type: 'endpoint.test' });
  });

  it('repeats a delivery by its schedule, with one id and body, and makes it a dead letter after ten attempts', async () => {
    webhooks.receiver.answer = (response) => response.writeHead(503).end('not now');
    const endpoint = await save();
    const { id } = await service().test(here.admin, endpoint.id);
    const delays: number[] = [];
    for (;;) {
      await send(id);
      const [delivery] = await log(endpoint);
      if (delivery?.nextAt == null) break;
      delays.push(delivery.nextAt - clock.now());
      clock.advance(delivery.nextAt - clock.now());
    }
    expect(delays).toEqual([5_000, 300_000, 1_800_000, ...[2, 5, 10, 14, 20, 24].map((hours) => hours * hour)]);
    const [dead] = await log(endpoint);
    expect(dead).toMatchObject({ status: 'dead', attempts: 10, reason: 'http_503' });
    expect(dead?.log).toHaveLength(10);
    expect(dead?.log[0]).toMatchObject({ status: 503, error: 'http_503', excerpt: 'not now' });
    const { received } = webhooks.receiver;
    expect(new Set(received.map(({ headers }) => headers['webhook-id']))).toEqual(new Set([id]));
    expect(new Set(received.map(({ headers }) => headers['webhook-timestamp'])).size).toBe(10);
    expect(new Set(received.map(({ body }) => body.toString())).size).toBe(1);
  });

  it('waits for Retry-After, and at least for the delay of its retry schedule', async () => {
    const endpoint = await save();
    const { id } = await service().test(here.admin, endpoint.id);
    for (const [header, delayMs] of [
      ['60', 60_000],
      ['1', 300_000],
    ] as const) {
      webhooks.receiver.answer = (response) => response.writeHead(429, { 'retry-after': header }).end();
      await send(id);
      const [delivery] = await log(endpoint);
      expect((delivery?.nextAt ?? 0) - clock.now()).toBe(delayMs);
    }
  });

  it('redacts secrets in the excerpt of an answer', async () => {
    const endpoint = await save();
    webhooks.receiver.answer = (response) => response.writeHead(200).end(`you sent ${endpoint.secret}`);
    await send((await service().test(here.admin, endpoint.id)).id);
    expect((await log(endpoint))[0]?.log[0]?.excerpt).toBe('you sent [redacted]');
  });

  it('delivers to a fast endpoint while a slow one answers none of its requests', async () => {
    const { receiver } = webhooks;
    const [slow, fast] = [await save({ url: receiver.url('/slow') }), await save({ url: receiver.url('/fast') })];
    const arrived = (path: string) => receiver.received.filter((webhook) => webhook.path === path).length;
    receiver.answer = (response, { path }) => {
      if (path === '/fast') response.writeHead(200).end();
    };
    for (let i = 0; i < 8; i++) await service().test(here.admin, slow.id);
    await webhooks.app.get(DeliveryWorker).start();
    await eventually('the slow endpoint has all its parallel sends', () => (arrived('/slow') >= 4 ? true : undefined));
    for (let i = 0; i < 8; i++) await service().test(here.admin, fast.id);
    await eventually('all webhooks of the fast endpoint are delivered', async () =>
      (await log(fast)).every(({ status }) => status === 'delivered') ? true : undefined,
    );
    expect(arrived('/fast')).toBe(8);
    expect((await log(slow)).filter(({ status }) => status !== 'pending')).toEqual([]);
    receiver.answer = (response) => response.writeHead(200).end();
    receiver.closeOpen();
  });

  it('delivers to an endpoint of another workspace while the endpoints of one workspace answer none of their requests', async () => {
    const { receiver } = webhooks;
    const arrived = (path: string) => receiver.received.filter((webhook) => webhook.path === path).length;
    receiver.answer = (response, { path }) => {
      if (path === '/fast') response.writeHead(200).end();
    };
    const slow = [await save({ url: receiver.url('/slow') }), await save({ url: receiver.url('/slow') })];
    for (const { id } of [...slow, ...slow, ...slow, ...slow]) await service().test(here.admin, id);
    await webhooks.app.get(DeliveryWorker).start();
    await eventually('the workspace has all its slots', () => (arrived('/slow') >= 5 ? true : undefined));
    here = await identities.workspaceOf(newId());
    const fast = await save({ url: receiver.url('/fast') });
    for (let i = 0; i < 4; i++) await service().test(here.admin, fast.id);
    await eventually('all webhooks of the other workspace are delivered', async () =>
      (await log(fast)).every(({ status }) => status === 'delivered') ? true : undefined,
    );
    expect([arrived('/slow'), arrived('/fast')]).toEqual([5, 4]);
    receiver.answer = (response) => response.writeHead(200).end();
    receiver.closeOpen();
  });

  it('disables an endpoint after 410, notifies the other endpoints, and makes its pending deliveries dead letters', async () => {
    const other = await save({ events: ['endpoint.disabled'] });
    const endpoint = await save();
    const first = await service().test(here.admin, endpoint.id);
    const second = await service().test(here.admin, endpoint.id);
    webhooks.receiver.answer = (response) => response.writeHead(410).end();
    await send(first.id);
    await send(second.id);
    expect(await service().get(here.admin, endpoint.id)).toMatchObject({ enabled: false, disabledBecause: 'gone' });
    expect((await log(endpoint)).map(({ status, reason }) => [status, reason])).toEqual([
      ['dead', 'endpoint_disabled'],
      ['dead', 'http_410'],
    ]);
    const [delivered] = await log(other);
    expect(JSON.parse(delivered?.body ?? '')).toMatchObject({
      type: 'endpoint.disabled',
      data: { endpointId: endpoint.id, reason: 'gone' },
    });
  });

  it('disables an endpoint after 5 days without success and 10 dead letters, and enables it without failures', async () => {
    const endpoint = await save();
    webhooks.receiver.answer = (response) => response.writeHead(404).end();
    const fail = async () => {
      await send((await service().test(here.admin, endpoint.id)).id);
    };
    for (let i = 0; i < 9; i++) await fail();
    clock.advance(5 * 24 * hour);
    expect(await service().get(here.admin, endpoint.id)).toMatchObject({ enabled: true });
    await fail();
    expect(await service().get(here.admin, endpoint.id)).toMatchObject({ enabled: false, disabledBecause: 'failing' });
    await service().setEnabled(here.admin, endpoint.id, true);
    const enabled = { enabled: true, disabledBecause: null, failingSince: null };
    expect(await service().get(here.admin, endpoint.id)).toMatchObject(enabled);
  });

  it('does not disable an endpoint that had a success within 5 days', async () => {
    const endpoint = await save();
    const answers = [404, 404, 404, 404, 404, 200, 404, 404, 404, 404, 404, 404];
    for (const status of answers) {
      webhooks.receiver.answer = (response) => response.writeHead(status).end();
      await send((await service().test(here.admin, endpoint.id)).id);
      clock.advance(24 * hour);
    }
    expect(await service().get(here.admin, endpoint.id)).toMatchObject({ enabled: true });
  });

  it('redelivers one delivery, and the dead letters of a range, with the same ids and bodies', async () => {
    const endpoint = await save();
    webhooks.receiver.answer = (response) => response.writeHead(400).end();
    const ids: string[] = [];
    for (let i = 0; i < 4; i++) {
      const { id } = await service().test(here.admin, endpoint.id);
      await send(id);
      ids.push(id);
      clock.advance(hour);
    }
    webhooks.receiver.answer = (response) => response.writeHead(200).end();
    await service().redeliver(here.admin, ids[0] ?? '');
    await expect(service().redeliver(here.admin, ids[0] ?? '')).rejects.toMatchObject({ code: 'not_found' });
    await send(ids[0] ?? '');
    const range = { endpointId: endpoint.id, from: clock.now() - 3.5 * hour, to: clock.now() - 1.5 * hour };
    expect(await service().redeliverDead(here.admin, range)).toBe(2);
    expect(await service().redeliverDead(here.admin, range)).toBe(0);
    for (const id of ids.slice(1, 3)) await send(id);
    expect((await log(endpoint)).map(({ status }) => status)).toEqual(['dead', 'delivered', 'delivered', 'delivered']);
    const { received } = webhooks.receiver;
    expect(received.slice(4).map(({ headers }) => headers['webhook-id'])).toEqual(ids.slice(0, 3));
    expect(received.slice(4).map(({ body }) => body.toString())).toEqual(
      received.slice(0, 3).map(({ body }) => body.toString()),
    );
  });

  it('hides a removed endpoint and its deliveries at once, and deletes them by the retention', async () => {
    const [endpoint, kept] = [await save(), await save()];
    const pending = await service().test(here.admin, endpoint.id);
    const other = await service().test(here.admin, kept.id);
    await service().remove(here.admin, endpoint.id);
    expect((await service().list(here.admin)).map(({ id }) => id)).toEqual([kept.id]);
    expect(await log(endpoint)).toEqual([]);
    await expect(service().test(here.admin, endpoint.id)).rejects.toMatchObject({ code: 'not_found' });
    await send(pending.id);
    expect(webhooks.receiver.received).toEqual([]);
    expect(await service().deleteExpired(here.owner.workspaceId)).toBe(1);
    const left = 'SELECT id FROM webhook_endpoint WHERE workspace_id = $1';
    expect(await webhooks.rows(left, [here.owner.workspaceId])).toEqual([{ id: kept.id }]);
    expect((await log(kept)).map(({ id }) => id)).toEqual([other.id]);
  });

  it('deletes deliveries 30 days after their end', async () => {
    const endpoint = await save();
    await send((await service().test(here.admin, endpoint.id)).id);
    const pending = await service().test(here.admin, endpoint.id);
    clock.advance(30 * 24 * hour - 1_000);
    expect(await service().deleteExpired(here.owner.workspaceId)).toBe(0);
    clock.advance(2_000);
    expect(await service().deleteExpired(here.owner.workspaceId)).toBe(1);
    expect((await log(endpoint)).map(({ id }) => id)).toEqual([pending.id]);
  });
});
