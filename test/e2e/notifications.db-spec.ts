import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, jest } from '@jest/globals';
import pg from 'pg';

import { NotificationsRepository } from '#jobs';
import { NotificationActivity } from '#jobs/api';
import { createLogger, ManualClock, newId } from '#platform';

import { type MemberPrincipal, type Role, userPrincipal } from '../../libs/auth/src/principal.js';
import { DeliverySender } from '../../libs/triggers/src/outbound/deliveries/delivery-sender.js';
import { NotificationChannelsRepository } from '../../libs/triggers/src/outbound/notifications/notification-channels.repository.js';
import {
  type GivenChannel,
  NotificationChannels,
} from '../../libs/triggers/src/outbound/notifications/notification-channels.service.js';
import { createTestDatabase, type TestDatabase } from '../harness/database.js';
import { HintBus, openTestIdentities, type TestIdentities } from '../harness/identities.js';
import { openTestJobs, type TestJobs } from '../harness/jobs.js';
import { MailServer } from '../harness/mail-server.js';
import { notificationStage, scopeOfUser } from '../harness/notifications.js';
import { openTestWebhooks, type TestWebhooks } from '../harness/webhooks.js';

let database: TestDatabase;

beforeAll(async () => {
  database = await createTestDatabase();
});
afterAll(async () => {
  await database.close();
});

describe('notifications by e-mail', () => {
  let identities: TestIdentities;
  let mails: MailServer;
  let webhooks: TestWebhooks;
  let here: Record<Role, MemberPrincipal>;
  let clock: ManualClock;
  /** Another one for each test: codes are limited by address. */
  let address = '';

  beforeAll(async () => {
    identities = openTestIdentities(database);
    mails = await MailServer.listen();
    webhooks = await openTestWebhooks(database, mails.env);
  });
  beforeEach(async () => {
    here = await identities.workspaceOf(newId());
    clock = new ManualClock(Date.now());
    address = `ada.${newId()}@example.com`;
    channels().clock = clock;
    mails.received.length = 0;
  });
  afterEach(() => webhooks.reset());
  afterAll(async () => {
    await webhooks.close();
    await mails.close();
    identities.auth.close();
  });

  const channels = () => webhooks.app.get(NotificationChannels);
  /** The member with a token whose issuer has verified this address, or none. */
  const member = (verifiedEmail: string | null = null) =>
    userPrincipal({ ...here.member, expiresAt: Number.MAX_SAFE_INTEGER, verifiedEmail });
  const given = (changes: Partial<GivenChannel> = {}): GivenChannel => ({
    ...{ kind: 'email', address, events: ['job_completed'], enabled: true },
    ...{ includeTitle: false, isWorkspaceWide: false, ...changes },
  });
  const save = async (changes: Partial<GivenChannel> = {}, who: MemberPrincipal = member()) =>
    (await channels().save(who, null, given(changes))).channel;
  /** Sends the code, without the queue. */
  const sendCode = async () => {
    const { workspaceId } = here.owner;
    const [due] = await webhooks.rows<{ id: string }>(`SELECT id FROM webhook_delivery WHERE workspace_id = $1`, [
      workspaceId,
    ]);
    await webhooks.app.get(DeliverySender).send({ workspaceId, deliveryId: due?.id ?? '' }, 0);
    return /code is (\d{8})/.exec(mails.received[0]?.source ?? '')?.[1] ?? '';
  };

  describe('addresses of notification channels', () => {
    it('reject a code after five wrong tries, and a sixth request for a code within an hour', async () => {
      const channel = await save();
      const right = await sendCode();
      for (let i = 0; i < 5; i += 1)
        await expect(channels().confirm(member(), channel.id, 'wrong')).rejects.toMatchObject({ field: 'code' });
      await expect(channels().confirm(member(), channel.id, right)).rejects.toMatchObject({ field: 'code' });
      for (let i = 0; i < 4; i += 1) await channels().requestCode(member(), channel.id);
      await expect(channels().requestCode(member(), channel.id)).rejects.toMatchObject({ code: 'rate_limited' });
      await channels().remove(member(), channel.id);
      await expect(save()).rejects.toMatchObject({ code: 'rate_limited' });
    });

    it('reject more than five codes of a user in an hour in all workspaces together', async () => {
      const subject = newId();
      const another = await identities.workspaceOf(newId());
      const joined = await Promise.all(
        [here.owner, another.owner].map((owner) => identities.join(owner, subject, 'member')),
      );
      const request = (i: number) => save({ address: `${i}.${address}` }, joined[i % 2]);
      for (let i = 0; i < 3; i += 1) await request(i);
      const parallel = await Promise.allSettled([3, 4, 5, 6].map(request));
      expect(parallel.map(({ status }) => status).sort()).toEqual(['fulfilled', 'fulfilled', 'rejected', 'rejected']);
      await expect(request(0)).rejects.toMatchObject({
        code: 'rate_limited',
        details: { limit: 'codes_per_hour', limitValue: 5, raisedBy: 'fixed' },
      });
    });

    it('reject more than five codes to an address in an hour from several users', async () => {
      const users = [here.owner, here.admin, here.member];
      for (let i = 0; i < 5; i += 1) await save({}, users[i % 3]);
      await expect(save({}, here.admin)).rejects.toMatchObject({
        code: 'rate_limited',
        details: { limit: 'codes_per_address', limitValue: 5, raisedBy: 'fixed' },
      });
    });

    it('keep the code of a new address when one for the old address is made later', async () => {
      const channel = await save();
      const key = { workspaceId: here.owner.workspaceId, id: channel.id };
      await channels().save(member(), channel.id, given({ address: `new.${address}` }));
      const late = { cipher: Buffer.from('late'), until: new Date(clock.now() + 1_000) };
      const repository = webhooks.app.get(NotificationChannelsRepository);
      expect(await repository.setCode({ ...key, address }, late)).toBe(false);
      expect(await repository.setCode({ ...key, address: `new.${address}` }, late)).toBe(true);
    });

    it.each([
      'a@b@example.com',
      'ada@example.com, eve@example.com',
      'ada@example.com\r\nBcc: eve@example.com',
      'ada',
      '"a b"@example.com',
    ])('reject the address %j', async (text) => {
      await expect(save({ address: text })).rejects.toMatchObject({ code: 'bad_request', field: 'address' });
    });
  });

  describe('e-mails to a server that refuses the login', () => {
    afterEach(() => {
      mails.password = 'mail password';
    });

    it('show the error in the channel, are retried, and become dead letters after twelve attempts', async () => {
      const { workspaceId } = here.owner;
      const verified = member(address);
      const channel = await save({}, verified);
      await channels().test(verified, channel.id);
      mails.password = 'changed by the operator';
      const stored = () =>
        webhooks.rows<{ id: string }>(
          'SELECT id, status, reason, attempts FROM webhook_delivery WHERE channel_id = $1',
          [channel.id],
        );
      const deliveryId = (await stored())[0]?.id ?? '';
      const send = (number: number) => webhooks.app.get(DeliverySender).send({ workspaceId, deliveryId }, number);
      for (let number = 0; number < 11; number++) await send(number);
      expect(await stored()).toMatchObject([{ status: 'pending', attempts: 11 }]);
      expect(await channels().list(verified)).toMatchObject([{ lastError: 'smtp_535' }]);
      await send(11);
      expect(await stored()).toMatchObject([{ status: 'dead', reason: 'smtp_535', attempts: 12 }]);
      expect(mails.received).toEqual([]);
    });
  });
});

describe('notification feed', () => {
  let jobs: TestJobs;
  let repository: NotificationsRepository;
  /** The job that everything is about. */
  let jobId: string;
  let ending = new AbortController();

  beforeAll(async () => {
    jobs = await openTestJobs(database);
    repository = jobs.app.get(NotificationsRepository);
    jobId = await notificationStage(jobs).start();
  });
  afterEach(() => {
    ending.abort();
    ending = new AbortController();
  });
  afterAll(async () => {
    await jobs.close();
  });

  interface Sql {
    query(text: string, values: unknown[]): Promise<unknown>;
  }

  /** Writes notifications of a user; gives the id of the last. */
  async function notify(userId: string, count = 1, by: Sql = jobs.platform.postgres.workerPool): Promise<string> {
    const id = newId();
    await by.query(
      `INSERT INTO notification (workspace_id, id, user_id, type, job_id, interrupt_id)
       SELECT $1, CASE i WHEN $5 THEN $2 ELSE gen_random_uuid() END, $3, 'input_needed', $4, gen_random_uuid()
         FROM generate_series(1, $5::int) i`,
      [jobs.workspaceId, id, userId, jobId, count],
    );
    return id;
  }

  /** A notification feed that reads only after a hint. */
  class Unpolled extends NotificationActivity {
    protected override readonly pollMs = 3_600_000;
    protected override readonly restMs = 0;
  }

  async function watchNotifications(userId: string) {
    const bus = new HintBus();
    const activity = new Unpolled(repository, bus, createLogger({ level: 'silent' }));
    const changes = activity.changes({ workspaceId: jobs.workspaceId, topic: userId }, ending.signal);
    expect((await changes.next()).value).toEqual([]);
    return async () => {
      bus.publish('interrupts-changed', { workspaceId: jobs.workspaceId });
      const { value } = await changes.next();
      return value ?? 'over';
    };
  }

  describe('live notifications', () => {
    it('contain each notification of the user that was written or read since the start, once', async () => {
      const [me, other] = [newId(), newId()];
      const before = await notify(me);
      const next = await watchNotifications(me);
      await notify(other, 3);
      const written = await notify(me);
      expect(await next()).toEqual([written]);
      await repository.markRead(scopeOfUser(jobs.workspaceId, other));
      await repository.markRead(scopeOfUser(jobs.workspaceId, me), { id: before });
      expect(await next()).toEqual([before]);
      await repository.markRead(scopeOfUser(jobs.workspaceId, me));
      expect(await next()).toEqual([written]);
    });

    it('contain a notification that was committed after a later one', async () => {
      const me = newId();
      const late = await jobs.platform.postgres.workerPool.connect();
      await late.query('BEGIN');
      const lateId = await notify(me, 1, late);
      const next = await watchNotifications(me);
      const early = await notify(me);
      expect(await next()).toEqual([early]);
      await late.query('COMMIT');
      late.release();
      expect(await next()).toEqual([lateId]);
    });
  });

  describe('query of live notifications', () => {
    it('reads changes from an index and no older unread rows', async () => {
      await notify(newId(), 5_000);
      const owner = new pg.Client({ connectionString: database.urls.owner });
      await owner.connect();
      await owner.query('ANALYZE notification');
      await owner.end();
      const { rows } = await jobs.platform.postgres.workerPool.query<{ now: string }>(
        'SELECT pg_current_xact_id()::text AS now',
      );
      const now = rows[0]?.now ?? '';
      await notify(newId(), 2);
      const asked = jest.spyOn(database.prisma, 'queryInWorkspace');
      const { changed } = await new NotificationsRepository(database.prisma).changedFrom(jobs.workspaceId, now, 100);
      const [, statement] = asked.mock.calls[0] ?? [];
      asked.mockRestore();
      expect(changed).toHaveLength(2);
      const values: unknown[] = statement?.values ?? [];
      const plan = await database.postgres.withWorkspaceSql(jobs.workspaceId, async (client) => {
        const explained = await client.query<{ 'QUERY PLAN': string }>(
          `EXPLAIN (ANALYZE, TIMING OFF, BUFFERS OFF, SUMMARY OFF) ${statement?.text ?? ''}`,
          values,
        );
        return explained.rows.map((row) => row['QUERY PLAN']).join('\n');
      });
      expect(plan).toMatch(
        /Index Scan Backward using notification_workspace_id_changed_in_idx .*actual rows=2\.00 loops=1\)\n +Index Cond: \(\(workspace_id = .*changed_in >= /,
      );
      expect(plan).not.toContain('Rows Removed');
    });
  });
});
