import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';

import { ManualClock, newId } from '#platform';

import { type MemberPrincipal, type Role, userPrincipal } from '../../libs/auth/src/principal.js';
import { DeliverySender } from '../../libs/triggers/src/outbound/delivery-sender.js';
import { NotificationChannelsRepository } from '../../libs/triggers/src/outbound/notifications/notification-channels.repository.js';
import {
  type GivenChannel,
  NotificationChannels,
} from '../../libs/triggers/src/outbound/notifications/notification-channels.service.js';
import { createTestDatabase, type TestDatabase } from '../harness/database.js';
import { openTestIdentities, type TestIdentities } from '../harness/identities.js';
import { MailServer } from '../harness/mail-server.js';
import { openTestWebhooks, type TestWebhooks } from '../harness/webhooks.js';

let database: TestDatabase;
let identities: TestIdentities;
let mails: MailServer;
let webhooks: TestWebhooks;
let here: Record<Role, MemberPrincipal>;
let clock: ManualClock;
/** Another one for each test: codes are limited by address. */
let address = '';

beforeAll(async () => {
  database = await createTestDatabase();
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
  await database.close();
});

const channels = () => webhooks.app.get(NotificationChannels);
/** The member with a token whose issuer has verified no address. */
const member = () => userPrincipal({ ...here.member, expiresAt: Number.MAX_SAFE_INTEGER, verifiedEmail: null });
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
