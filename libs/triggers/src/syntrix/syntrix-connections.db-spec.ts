import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';

import type { MemberPrincipal, Role } from '#auth';
import { newId } from '#platform';

import { createTestDatabase, type TestDatabase } from '../../../../test/harness/database.js';
import { openTestIdentities, type TestIdentities } from '../../../../test/harness/identities.js';
import { openTestWebhooks, type TestWebhooks } from '../../../../test/harness/webhooks.js';
import { SyntrixConnectionsService } from './syntrix-connections.service.js';

let database: TestDatabase;
let identities: TestIdentities;
let triggers: TestWebhooks;
let here: Record<Role, MemberPrincipal>;

beforeAll(async () => {
  database = await createTestDatabase();
  identities = openTestIdentities(database);
  triggers = await openTestWebhooks(database, { OUTBOUND_PORTS: '8080' });
});
beforeEach(async () => {
  here = await identities.workspaceOf(newId());
});
afterAll(async () => {
  await triggers.close();
  identities.auth.close();
  await database.close();
});

const save = (settings: object) =>
  triggers.app.get(SyntrixConnectionsService).save(here.admin, { name: 'chats', settings });

describe('SyntrixConnectionsService.save', () => {
  it.each([
    [{}, 'not public'],
    [{ baseUrl: 'http://169.254.169.254/latest' }, 'not public'],
    [{ baseUrl: 'https://localhost' }, 'not public'],
    [{ baseUrl: 'https://syntrix.example:22' }, 'port 22 is not allowed'],
    [{ baseUrl: 'https://user:word@syntrix.example' }, 'must not contain a user name or password'],
  ])('rejects a URL that the server may not request: %j', async (settings, why) => {
    const refusal = { code: 'bad_request', field: 'baseUrl', message: expect.stringContaining(why) };
    await expect(save(settings)).rejects.toMatchObject(refusal);
  });

  it('accepts a host that does not exist yet', async () => {
    expect(await save({ baseUrl: 'https://syntrix.invalid' })).toMatchObject({ name: 'chats' });
  });

  it.each([
    [{ model: 'a\0b' }, 'model'],
    [{ tools: ['a', '\ud800'] }, 'tools'],
    [{ systemPrompt: '\0' }, 'systemPrompt'],
  ])('rejects a setting that cannot be stored: %j', async (settings, field) => {
    const given = { baseUrl: 'https://syntrix.example', ...settings };
    await expect(save(given)).rejects.toMatchObject({ code: 'bad_request', field });
  });

  it('rejects a host that the workspace does not allow', async () => {
    await database.postgres.withWorkspaceSql(here.admin.workspaceId, (client) =>
      client.query(`UPDATE workspace SET outbound_hosts = '{db.example}'`),
    );
    const message = expect.stringContaining('host syntrix.invalid is not on the list');
    await expect(save({ baseUrl: 'https://syntrix.invalid' })).rejects.toMatchObject({ field: 'baseUrl', message });
    expect(await save({ baseUrl: 'https://db.example' })).toMatchObject({ name: 'chats' });
  });
});
