import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';

import { NotificationsRepository } from '#jobs';
import { armCrashPoint, Config, ManualClock, newId } from '#platform';

import { type MemberPrincipal, type Role, userPrincipal } from '../../libs/auth/src/principal.js';
import { LeaseRepository } from '../../libs/jobs/src/run/lease.repository.js';
import { Deliveries } from '../../libs/triggers/src/outbound/deliveries/deliveries.service.js';
import { DeliverySender } from '../../libs/triggers/src/outbound/deliveries/delivery-sender.js';
import { DeliveryWorker } from '../../libs/triggers/src/outbound/deliveries/delivery-worker.js';
import {
  type GivenChannel,
  NotificationChannels,
} from '../../libs/triggers/src/outbound/notifications/notification-channels.service.js';
import { NotificationDispatch } from '../../libs/triggers/src/outbound/notifications/notification-dispatch.service.js';
import { UnsubscribeLinks } from '../../libs/triggers/src/outbound/notifications/unsubscribe-links.js';
import { WebhookEndpoints } from '../../libs/triggers/src/outbound/webhook-endpoints.service.js';
import { claimOne } from '../harness/claim-one.js';
import { createTestDatabase, type TestDatabase } from '../harness/database.js';
import { eventually } from '../harness/eventually.js';
import { openTestIdentities, type TestIdentities } from '../harness/identities.js';
import { openTestJobs, type TestJobs } from '../harness/jobs.js';
import { MailServer } from '../harness/mail-server.js';
import { type NotificationStage, notificationStage } from '../harness/notifications.js';
import { openTestWebhooks, type TestWebhooks } from '../harness/webhooks.js';

let database: TestDatabase;
let identities: TestIdentities;
let jobs: TestJobs;
let mails: MailServer;
let webhooks: TestWebhooks;
let here: Record<Role, MemberPrincipal>;
let stage: NotificationStage;
let other: NotificationStage;
let watching = new AbortController();
let clock: ManualClock;

beforeAll(async () => {
  database = await createTestDatabase();
  identities = openTestIdentities(database);
  jobs = await openTestJobs(database);
  mails = await MailServer.listen();
  webhooks = await openTestWebhooks(database, {
    ...{ ...mails.env, MAILS_PER_HOUR: '2', PUBLIC_URL: 'https://nightshift.example.com' },
    NOTIFICATION_URL: 'https://app.example.com/jobs/{rootJobId}?thread={threadId}',
  });
});
beforeEach(async () => {
  here = await identities.workspaceOf(newId());
  const { workspaceId } = here.owner;
  const claim = async (jobId: string) => {
    const job = await claimOne(jobs.app.get(LeaseRepository), { workspaceId, jobId }, 'a worker');
    if (job === undefined) throw new Error('the job cannot be claimed');
    return job;
  };
  const request: TestJobs['request'] = (changes) => jobs.request({ workspaceId, ...changes });
  const stageOf = (userId: string) => notificationStage({ ...jobs, workspaceId, userId, request, claim });
  [stage, other] = [stageOf(here.member.userId), stageOf(here.owner.userId)];
  watching = new AbortController();
  clock = new ManualClock(Date.now());
  address = `ada.${newId()}@example.com`;
  for (const token of [NotificationDispatch, NotificationChannels, Deliveries, DeliverySender])
    webhooks.app.get<{ clock: object }>(token).clock = clock;
});
afterEach(async () => {
  watching.abort();
  await webhooks.reset();
  mails.received.length = 0;
  mails.answer = () => null;
});
afterAll(async () => {
  await webhooks.close();
  await mails.close();
  await jobs.close();
  identities.auth.close();
  await database.close();
});

/** Another one for each test: codes are limited by address. */
let address = '';
const channels = () => webhooks.app.get(NotificationChannels);
/** The member with a token whose issuer has verified this address. */
const member = (verifiedEmail: string | null = address) =>
  userPrincipal({ ...here.member, expiresAt: Number.MAX_SAFE_INTEGER, verifiedEmail });
const given = (changes: Partial<GivenChannel> = {}): GivenChannel => ({
  ...{ kind: 'email', address, events: ['job_completed', 'job_failed', 'input_needed'], enabled: true },
  ...{ includeTitle: false, isWorkspaceWide: false, ...changes },
});
const save = async (changes: Partial<GivenChannel> = {}, who: MemberPrincipal = member()) =>
  (await channels().save(who, null, given(changes))).channel;
const finishJob = async (of = stage) => {
  const job = await of.startClaimed();
  await of.end(job);
  return job.jobId;
};
const dispatch = () => webhooks.app.get(NotificationDispatch).dispatch(here.owner.workspaceId);
interface Stored {
  readonly id: string;
  readonly status: string;
  readonly reason: string | null;
  readonly attempts: number;
  readonly body: string;
}
const stored = () =>
  webhooks.rows<Stored>(
    'SELECT id, status, reason, attempts, body FROM webhook_delivery WHERE workspace_id = $1 AND channel_id IS NOT NULL ORDER BY ordinal',
    [here.owner.workspaceId],
  );
/** Sends what is due, without the queue. */
const sendAll = async () => {
  const pending = (await stored()).filter(({ status }) => status === 'pending');
  const { workspaceId } = here.owner;
  for (const { id } of pending) await webhooks.app.get(DeliverySender).send({ workspaceId, deliveryId: id }, 0);
};
const codeIn = (source = '') => /code is (\d{8})/.exec(source)?.[1] ?? '';

describe('notification channels', () => {
  it('send an e-mail with links when a job ends without viewers', async () => {
    await save();
    const jobId = await finishJob();
    await dispatch();
    await webhooks.app.get(DeliveryWorker).start();
    const mail = await eventually('it arrived', () => mails.received[0]);
    expect(mail.to).toEqual([address]);
    expect(mail.headers).toMatchObject({ subject: 'A job finished', 'auto-submitted': 'auto-generated' });
    expect(mail.source).toContain(`https://app.example.com/jobs/${jobId}?thread=`);
    expect(mail.source).toContain(`nightshift attach ${jobId}`);
    const token = /unsubscribe\/([\w.-]+)>/.exec(mail.headers['list-unsubscribe'] ?? '')?.[1] ?? '';
    const links = webhooks.app.get(UnsubscribeLinks);
    const [workspaceId = '', , proof = ''] = token.split('.');
    expect(await links.use([workspaceId, newId(), proof].join('.'))).toBe(false);
    expect(await links.use(token)).toBe(true);
    expect(await channels().list(member())).toMatchObject([{ enabled: false, disabledBecause: 'unsubscribed' }]);
  });

  it('send nothing about a job that has a viewer', async () => {
    await save();
    const job = await stage.startClaimed();
    await stage.watch(job.jobId, watching.signal);
    await eventually('the viewer counts', async () => {
      const rows = await webhooks.rows('SELECT 1 FROM job_viewer WHERE job_id = $1', [job.jobId]);
      return rows.length > 0 ? rows : undefined;
    });
    await stage.end(job);
    await dispatch();
    expect(await stored()).toEqual([]);
  });

  it('send one e-mail for a notification that is dispatched twice', async () => {
    await save();
    await finishJob();
    await Promise.all([dispatch(), dispatch()]);
    await dispatch();
    expect(await stored()).toHaveLength(1);
  });

  it('reuse the Message-ID when a crash follows the send but precedes its record', async () => {
    await save();
    await finishJob();
    await dispatch();
    armCrashPoint(Config.from({ NODE_ENV: 'test', CRASH_POINT: 'webhook-sent:throw' }));
    await expect(sendAll()).rejects.toThrow();
    armCrashPoint(Config.from({ NODE_ENV: 'test' }));
    await sendAll();
    const ids = mails.received.map(({ headers }) => headers['message-id']);
    expect(ids).toHaveLength(2);
    expect(new Set(ids).size).toBe(1);
    expect(await stored()).toMatchObject([{ status: 'delivered', attempts: 1 }]);
  });

  it('skip a notification that is read before it is sent', async () => {
    await save();
    await finishJob();
    await dispatch();
    await jobs.app.get(NotificationsRepository).markRead(stage.scope);
    await sendAll();
    expect(mails.received).toEqual([]);
    expect(await stored()).toMatchObject([{ status: 'dead', reason: 'read', attempts: 0 }]);
  });

  it('send a notification whose transaction commits after a later one was dispatched', async () => {
    await save({ kind: 'webhook', address: webhooks.receiver.url() });
    const jobId = await stage.start();
    const client = await database.postgres.workerPool.connect();
    try {
      await client.query('BEGIN');
      await client.query(
        `INSERT INTO notification (workspace_id, id, user_id, type, job_id, created_at) VALUES ($1, $2, $3, 'job_failed', $4, clock_timestamp())`,
        [here.owner.workspaceId, newId(), here.member.userId, jobId],
      );
      await finishJob();
      await dispatch();
      expect(await stored()).toHaveLength(1);
      await client.query('COMMIT');
    } finally {
      client.release();
    }
    await dispatch();
    expect((await stored()).map(({ body }) => (JSON.parse(body) as { type: string }).type)).toEqual([
      'notification.job_completed',
      'notification.job_failed',
    ]);
  });

  it('send a user only the notifications of that user, and a workspace channel those of all users', async () => {
    const own = await save();
    const wide = await save({ isWorkspaceWide: true, kind: 'webhook', address: webhooks.receiver.url() }, here.admin);
    await finishJob(other);
    await finishJob(stage);
    await dispatch();
    const found = (await stored()).map(
      ({ body }) => (JSON.parse(body) as { data: { channelId: string } }).data.channelId,
    );
    expect(found.sort()).toEqual([own.id, wide.id, wide.id].sort());
    await expect(save({ isWorkspaceWide: true })).rejects.toMatchObject({ code: 'not_found' });
    expect(await channels().list(here.admin)).toMatchObject([{ id: wide.id }]);
  });

  it('omit the title unless includeTitle is set, and remove line breaks from the header', async () => {
    await save();
    await save({ includeTitle: true, address: 'titles@example.com' }, member('titles@example.com'));
    const jobId = await stage.start();
    await webhooks.rows(
      `INSERT INTO interrupt (workspace_id, id, job_id, kind, title, request, created_at) VALUES ($1, $2, $3, 'human_input', $4, '{}', now())`,
      [here.owner.workspaceId, jobId, jobId, 'Secret plan\r\nBcc: eve@example.com\r\n\r\n<b>&'],
    );
    await webhooks.rows(
      `INSERT INTO notification (workspace_id, id, user_id, type, job_id, interrupt_id, created_at) VALUES ($1, $2, $3, 'input_needed', $4, $4, clock_timestamp())`,
      [here.owner.workspaceId, newId(), here.member.userId, jobId],
    );
    await dispatch();
    await sendAll();
    const [plain, titled] = [address, 'titles@example.com'].map((to) =>
      mails.received.find((mail) => mail.to[0] === to),
    );
    expect(plain?.source).not.toContain('Secret plan');
    expect(titled?.headers).toMatchObject({ subject: 'A job waits for you: Secret plan Bcc: eve@example.com <b>&' });
    expect(titled?.headers['bcc']).toBeUndefined();
    expect(titled?.source).toContain('&#60;b&#62;&#38;');
  });

  it('send at most MAILS_PER_HOUR e-mails to a user, and count the dropped ones', async () => {
    await save();
    for (let i = 0; i < 4; i += 1) await finishJob();
    await dispatch();
    expect((await stored()).map(({ status, reason }) => reason ?? status)).toEqual([
      'pending',
      'pending',
      'rate_limited',
      'rate_limited',
    ]);
    expect(await channels().list(member())).toMatchObject([{ dropped: 2 }]);
    clock.advance(3_600_001);
    await finishJob();
    await dispatch();
    await sendAll();
    expect(mails.received.map(({ source }) => source.includes('2 earlier notifications were not sent'))).toEqual([
      false,
      false,
      true,
    ]);
    expect(await channels().list(member())).toMatchObject([{ dropped: 0, lastError: null }]);
  });

  it('stop after a permanent SMTP error, and retry after a temporary one', async () => {
    await save();
    mails.answer = () => ({ code: 451, text: 'later' });
    await finishJob();
    await dispatch();
    await sendAll();
    expect(await stored()).toMatchObject([{ status: 'pending', attempts: 1 }]);
    expect(await channels().list(member())).toMatchObject([{ lastError: 'smtp_451' }]);
    mails.answer = () => ({ code: 550, text: 'no such user' });
    await finishJob();
    await dispatch();
    await sendAll();
    expect((await stored())[1]).toMatchObject({ status: 'dead', reason: 'smtp_550', attempts: 1 });
  });

  it('send only a code to an address that is not confirmed', async () => {
    const channel = await save({}, member(null));
    await finishJob();
    await dispatch();
    await sendAll();
    expect(mails.received.map(({ headers }) => headers['subject'])).toEqual(['Confirm your address']);
    expect(JSON.stringify(await stored())).not.toContain(codeIn(mails.received[0]?.source));
    await expect(channels().confirm(member(), channel.id, '00000000x')).rejects.toMatchObject({ field: 'code' });
    clock.advance(Date.now() - clock.now());
    const confirmed = await channels().confirm(member(), channel.id, codeIn(mails.received[0]?.source));
    expect(confirmed.confirmedAt).not.toBeNull();
    await finishJob();
    await dispatch();
    expect((await stored()).map(({ body }) => (JSON.parse(body) as { type: string }).type)).toEqual([
      'channel.confirm',
      'notification.job_completed',
    ]);
  });

  it('require a new confirmation of an address whose recipient has unsubscribed', async () => {
    const { id } = await save({}, member(null));
    await sendAll();
    clock.advance(Date.now() - clock.now());
    await channels().confirm(member(null), id, codeIn(mails.received[0]?.source));
    const links = webhooks.app.get(UnsubscribeLinks);
    const token = links.of(here.owner.workspaceId, id)?.split('/').at(-1) ?? '';
    expect(await links.use(token)).toBe(true);
    const again = await channels().save(member(null), id, given());
    expect(again.channel).toMatchObject({ enabled: true, confirmedAt: null });
    await finishJob();
    await dispatch();
    await sendAll();
    expect(mails.received.map(({ headers }) => headers['subject'])).toEqual([
      'Confirm your address',
      'Confirm your address',
    ]);
    await links.use(token);
    const own = await channels().save(member(), id, given()); // the issuer of the token has verified that it is the user's own
    expect(own.channel).toMatchObject({ enabled: true, confirmedAt: clock.now() });
  });

  it('stay out of the webhook API, which could send their messages without limit', async () => {
    await save({}, member(null));
    await sendAll();
    const [delivery] = await stored();
    const api = webhooks.app.get(WebhookEndpoints);
    await expect(api.redeliver(here.owner, delivery?.id ?? '')).rejects.toMatchObject({ code: 'not_found' });
    await database.prisma.withWorkspace(here.owner, (tx) =>
      tx.webhookDelivery.updateMany({ data: { status: 'dead' } }),
    );
    expect(await api.redeliverDead(here.owner, {})).toBe(0);
    expect(await api.deliveries(here.owner, {}, { first: 10 })).toEqual({ items: [], hasMore: false });
    expect(await stored()).toMatchObject([{ status: 'dead' }]);
  });

  it('show that the address of a webhook is blocked', async () => {
    const { channel } = await channels().save(
      member(),
      null,
      given({ kind: 'webhook', address: webhooks.receiver.url() }),
    );
    const data = { address: 'http://10.0.0.1/' };
    await database.prisma.withWorkspace(here.owner, (tx) =>
      tx.notificationChannel.updateMany({ where: { id: channel.id }, data }),
    );
    await finishJob();
    await dispatch();
    await sendAll();
    expect(await channels().list(member())).toMatchObject([{ lastError: 'blocked_address' }]);
  });

  it('send a signed webhook, and disable the channel after status 410', async () => {
    const { channel, secret } = await channels().save(
      member(),
      null,
      given({ kind: 'webhook', address: webhooks.receiver.url() }),
    );
    expect(secret?.reveal()).toMatch(/^whsec_/);
    webhooks.receiver.answer = (response) => response.writeHead(410).end();
    const jobId = await finishJob();
    await dispatch();
    await sendAll();
    const [webhook] = webhooks.receiver.received;
    expect(JSON.parse(webhook?.body.toString() ?? '')).toMatchObject({
      type: 'notification.job_completed',
      data: { jobId, rootJobId: jobId, userId: here.member.userId, channelId: channel.id },
    });
    expect(webhook?.headers['webhook-signature']).toMatch(/^v1,/);
    expect(await channels().list(member())).toMatchObject([
      { enabled: false, disabledBecause: 'gone', lastError: 'http_410' },
    ]);
  });

  it('disappear when their user leaves the workspace', async () => {
    await save();
    await database.prisma.withWorkspace(here.owner, (tx) =>
      tx.membership.delete({
        where: { workspaceId_userId: { workspaceId: here.owner.workspaceId, userId: here.member.userId } },
      }),
    );
    expect(
      await webhooks.rows('SELECT workspace_id FROM notification_channel WHERE workspace_id = $1', [
        here.owner.workspaceId,
      ]),
    ).toEqual([]);
  });

  it('send a test notification', async () => {
    const channel = await save();
    await channels().test(member(), channel.id);
    await sendAll();
    expect(mails.received[0]?.headers['subject']).toBe('Test of your notification channel');
  });
});
