import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';

import { NotificationsRepository } from '#jobs';
import { newId } from '#platform';

import { type MemberPrincipal, type Role, userPrincipal } from '../../libs/auth/src/principal.js';
import { EventLogRepository } from '../../libs/jobs/src/events/event-log.repository.js';
import { LeaseRepository } from '../../libs/jobs/src/run/lease.repository.js';
import { DeliverySender } from '../../libs/triggers/src/outbound/deliveries/delivery-sender.js';
import { DeliveryWorker } from '../../libs/triggers/src/outbound/deliveries/delivery-worker.js';
import {
  type GivenChannel,
  NotificationChannels,
} from '../../libs/triggers/src/outbound/notifications/notification-channels.service.js';
import { NotificationDispatch } from '../../libs/triggers/src/outbound/notifications/notification-dispatch.service.js';
import { type GivenEndpoint, WebhookEndpoints } from '../../libs/triggers/src/outbound/webhook-endpoints.service.js';
import { claimOne } from '../harness/claim-one.js';
import { createTestDatabase, type TestDatabase } from '../harness/database.js';
import { eventually } from '../harness/eventually.js';
import { openTestIdentities, type TestIdentities } from '../harness/identities.js';
import { openTestJobs, type TestJobs, writeOf } from '../harness/jobs.js';
import { MailServer } from '../harness/mail-server.js';
import { notificationStage, scopeOfUser } from '../harness/notifications.js';
import { openTestWebhooks, type TestWebhooks } from '../harness/webhooks.js';

describe('disabled endpoints', () => {
  let database: TestDatabase;
  let identities: TestIdentities;
  let mails: MailServer;
  let webhooks: TestWebhooks;
  let here: Record<Role, MemberPrincipal>;

  beforeAll(async () => {
    database = await createTestDatabase();
    identities = openTestIdentities(database);
    mails = await MailServer.listen();
    webhooks = await openTestWebhooks(database, mails.env);
  });
  beforeEach(async () => {
    here = await identities.workspaceOf(newId());
    webhooks.receiver.answer = (response) => response.writeHead(410).end();
  });
  afterEach(() => webhooks.reset());
  afterAll(async () => {
    await webhooks.close();
    await mails.close();
    identities.auth.close();
    await database.close();
  });

  const service = () => webhooks.app.get(WebhookEndpoints);
  const terms = (changes: Partial<GivenEndpoint> = {}): GivenEndpoint => ({
    ...{ url: webhooks.receiver.url(), description: '', events: ['job.failed'], enabled: true },
    ...{ signature: 'standard', onlyUnwatched: false, includeContent: false },
    ...changes,
  });
  const save = async (changes: Partial<GivenEndpoint> = {}) =>
    (await service().save(here.admin, null, terms(changes))).endpoint;
  const test = async (id: string) => (await service().test(here.admin, id)).id;
  const send = (deliveryId: string) =>
    webhooks.app.get(DeliverySender).send({ workspaceId: here.owner.workspaceId, deliveryId }, 0);
  const inbox = (role: Role) => {
    const { workspaceId, userId } = here[role];
    return webhooks.app.get(NotificationsRepository).listMine(scopeOfUser(workspaceId, userId), {}, { limit: 9 });
  };

  const statuses = async (id: string) =>
    (await service().deliveries(here.admin, { endpointId: id }, { first: 10 })).items.map(
      ({ status, reason }) => reason ?? status,
    );

  describe('a disabled endpoint', () => {
    it.each([
      ['by the server', (id: string) => test(id).then(send)],
      ['with setEnabled', (id: string) => service().setEnabled(here.admin, id, false)],
      ['with save', (id: string) => service().save(here.admin, id, terms({ enabled: false }))],
    ])('receives nothing of the past after it was disabled %s and is enabled again', async (_, disable) => {
      const { id } = await save();
      const pending = await test(id);
      await disable(id);
      expect((await statuses(id)).filter((status) => status === 'endpoint_disabled')).toHaveLength(1);
      await service().setEnabled(here.admin, id, true);
      webhooks.receiver.received.length = 0;
      await send(pending);
      expect(webhooks.receiver.received).toEqual([]);
    });

    it('receives nothing of the past when a delivery was still pending while it was disabled', async () => {
      const { id } = await save();
      await service().setEnabled(here.admin, id, false);
      const pending = await test(id);
      await service().save(here.admin, id, terms());
      await send(pending);
      expect([await statuses(id), webhooks.receiver.received]).toEqual([['endpoint_disabled'], []]);
    });

    it('refuses to send its deliveries again until it is enabled', async () => {
      const { id } = await save();
      const dead = await test(id);
      await service().setEnabled(here.admin, id, false);
      const refused = { code: 'conflict', retryable: false };
      await expect(service().redeliver(here.admin, dead)).rejects.toMatchObject({ ...refused, field: 'id' });
      const range = { endpointId: id };
      await expect(service().redeliverDead(here.admin, range)).rejects.toMatchObject({
        ...refused,
        field: 'endpointId',
      });
      expect(await service().redeliverDead(here.admin, {})).toBe(0);
      await service().setEnabled(here.admin, id, true);
      expect(await service().redeliverDead(here.admin, range)).toBe(1);
    });
  });

  describe('an endpoint that the server disables', () => {
    it('causes one notification for each owner and admin', async () => {
      const [plain, described] = [await save(), await save({ description: 'Billing' })];
      for (const { id } of [plain, described]) {
        const [first, second] = [await test(id), await test(id)];
        await send(first);
        await send(second);
      }
      const about = { type: 'endpoint_disabled', jobId: null, rootJobId: null, threadId: null, interruptId: null };
      for (const role of ['owner', 'admin'] as const)
        expect(await inbox(role)).toMatchObject([
          { ...about, endpointId: described.id, title: 'Billing', readAt: null },
          { ...about, endpointId: plain.id, title: new URL(plain.url).host, readAt: null },
        ]);
      expect([await inbox('member'), await inbox('viewer')]).toEqual([[], []]);
    });

    it('causes a message on the channels of owners and admins that subscribe to it', async () => {
      const channel = (changes: Partial<GivenChannel>, who: MemberPrincipal) =>
        webhooks.app.get(NotificationChannels).save(who, null, {
          ...{ kind: 'email', address: 'ada@example.com', events: ['endpoint_disabled'], enabled: true },
          ...{ includeTitle: true, isWorkspaceWide: false, ...changes },
        });
      const user = { ...here.admin, expiresAt: Number.MAX_SAFE_INTEGER, verifiedEmail: 'ada@example.com' };
      await channel({}, userPrincipal(user));
      await channel({ events: ['job_failed'], kind: 'webhook', address: webhooks.receiver.url('/other') }, here.owner);
      await channel({ kind: 'webhook', address: webhooks.receiver.url('/member') }, here.member);
      const { id } = await save({ description: 'Billing' });
      await send(await test(id));
      await webhooks.app.get(NotificationDispatch).dispatch(here.owner.workspaceId);
      const sent = await webhooks.rows<{ id: string; body: string }>(
        'SELECT id, body FROM webhook_delivery WHERE workspace_id = $1 AND channel_id IS NOT NULL',
        [here.owner.workspaceId],
      );
      const bodies = sent.map(({ body }) => JSON.parse(body) as { data: object });
      expect(bodies).toMatchObject([
        { type: 'notification.endpoint_disabled', data: { endpointId: id, title: 'Billing' } },
      ]);
      expect(bodies[0]?.data).not.toHaveProperty('jobId');
      await send(sent[0]?.id ?? '');
      expect(mails.received[0]).toMatchObject({ headers: { subject: 'A webhook endpoint was disabled: Billing' } });
      expect(mails.received[0]?.source).toContain('nightshift webhooks list');
    });
  });
});

describe('webhooks of jobs', () => {
  let database: TestDatabase;
  let identities: TestIdentities;
  let jobs: TestJobs;
  let webhooks: TestWebhooks;

  beforeAll(async () => {
    database = await createTestDatabase();
    identities = openTestIdentities(database);
    jobs = await openTestJobs(database);
    webhooks = await openTestWebhooks(database);
  });
  afterAll(async () => {
    await webhooks.reset();
    await webhooks.close();
    await jobs.close();
    identities.auth.close();
    await database.close();
  });

  const setUp = async () => {
    const { admin, owner } = await identities.workspaceOf(newId());
    const { workspaceId, userId } = owner;
    const claim = async (jobId: string) => {
      const job = await claimOne(jobs.app.get(LeaseRepository), { workspaceId, jobId }, 'a worker');
      if (job === undefined) throw new Error('the job cannot be claimed');
      return job;
    };
    const request: TestJobs['request'] = (changes) => jobs.request({ workspaceId, ...changes });
    const { endpoint } = await webhooks.app.get(WebhookEndpoints).save(admin, null, {
      ...{ url: webhooks.receiver.url(), description: '', events: ['node.finished', 'job.completed'], enabled: true },
      ...{ signature: 'standard', headers: {}, onlyUnwatched: false, includeContent: false },
    });
    return {
      admin,
      endpointId: endpoint.id,
      stage: notificationStage({ ...jobs, workspaceId, userId, request, claim }),
    };
  };

  it('reach an endpoint one after the other for each job, by their numbers, also when they are sent again', async () => {
    const { admin, endpointId, stage } = await setUp();
    const claimed = [await stage.startClaimed(), await stage.startClaimed(), await stage.startClaimed()];
    const node = { label: 'n', type: 'http', path: [] };
    const finished = (nodeId: string) =>
      ({
        type: 'node-finished',
        body: { ...node, nodeId, nodeRunId: newId(), status: 'completed', output: 'text' },
      }) as const;
    await jobs.app
      .get(EventLogRepository)
      .commit(claimed.map((job) => writeOf(job, 1, { events: ['a', 'b', 'c'].map(finished) })));
    for (const job of claimed) await stage.end(job, 2);
    const { receiver } = webhooks;
    receiver.answer = (response) => response.writeHead(receiver.received.length % 2 === 0 ? 400 : 200).end();
    const arrived = () =>
      receiver.received.map(({ body }) => (JSON.parse(body.toString()) as { data: Record<string, unknown> }).data);
    const numbersOf = (jobId: string) =>
      arrived().flatMap((data) => (data['jobId'] === jobId ? [Number(data['seq'])] : []));
    const ascending = (numbers: readonly number[]) => [...numbers].sort((a, b) => a - b);
    await webhooks.app.get(DeliveryWorker).start();
    await eventually('all have arrived', () => (receiver.received.length === 12 ? true : undefined));
    for (const { jobId } of claimed) expect(numbersOf(jobId)).toEqual(ascending(numbersOf(jobId)));
    const isOver = async () =>
      (
        await webhooks.rows(`SELECT 1 FROM webhook_delivery WHERE endpoint_id = $1 AND status = 'pending'`, [
          endpointId,
        ])
      ).length === 0
        ? true
        : undefined;
    await eventually('all have ended', isOver);
    receiver.received.length = 0;
    receiver.answer = (response) => response.writeHead(200).end();
    expect(await webhooks.app.get(WebhookEndpoints).redeliverDead(admin, { endpointId })).toBe(6);
    await eventually('all have ended', isOver);
    expect(receiver.received).toHaveLength(6);
    for (const { jobId } of claimed) expect(numbersOf(jobId)).toEqual(ascending(numbersOf(jobId)));
  });
});
