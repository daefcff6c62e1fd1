import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';

import { newId } from '#platform';

import { userPrincipal } from '../../libs/auth/src/principal.js';
import { DeliverySender } from '../../libs/triggers/src/outbound/delivery-sender.js';
import { NotificationChannels } from '../../libs/triggers/src/outbound/notifications/notification-channels.service.js';
import { createTestDatabase, type TestDatabase } from '../harness/database.js';
import { openTestIdentities, type TestIdentities } from '../harness/identities.js';
import { MailServer } from '../harness/mail-server.js';
import { openTestWebhooks, type TestWebhooks } from '../harness/webhooks.js';

let database: TestDatabase;
let identities: TestIdentities;
let mails: MailServer;
let webhooks: TestWebhooks;

beforeAll(async () => {
  database = await createTestDatabase();
  identities = openTestIdentities(database);
  mails = await MailServer.listen();
  webhooks = await openTestWebhooks(database, mails.env);
});
afterAll(async () => {
  await webhooks.close();
  await mails.close();
  identities.auth.close();
  await database.close();
});

describe('e-mails to a server that refuses the login', () => {
  it('show the error in the channel, are retried, and become dead letters after twelve attempts', async () => {
    const { member } = await identities.workspaceOf(newId());
    const { workspaceId } = member;
    const address = 'ada@example.com';
    const principal = userPrincipal({ ...member, expiresAt: Number.MAX_SAFE_INTEGER, verifiedEmail: address });
    const channels = webhooks.app.get(NotificationChannels);
    const { channel } = await channels.save(principal, null, {
      ...{ kind: 'email', address, events: ['job_failed'], enabled: true, includeTitle: false, isWorkspaceWide: false },
    });
    await channels.test(principal, channel.id);
    mails.password = 'changed by the operator';
    const stored = () =>
      webhooks.rows<{ id: string }>('SELECT id, status, reason, attempts FROM webhook_delivery WHERE channel_id = $1', [
        channel.id,
      ]);
    const deliveryId = (await stored())[0]?.id ?? '';
    const send = (number: number) => webhooks.app.get(DeliverySender).send({ workspaceId, deliveryId }, number);
    for (let number = 0; number < 11; number++) await send(number);
    expect(await stored()).toMatchObject([{ status: 'pending', attempts: 11 }]);
    expect(await channels.list(principal)).toMatchObject([{ lastError: 'smtp_535' }]);
    await send(11);
    expect(await stored()).toMatchObject([{ status: 'dead', reason: 'smtp_535', attempts: 12 }]);
    expect(mails.received).toEqual([]);
  });
});
