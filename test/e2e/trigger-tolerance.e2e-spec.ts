import { randomUUID } from 'node:crypto';

import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';

import { signatureOf, type SyntrixServer } from '../../libs/triggers/src/syntrix/server/syntrix-server.js';
import { startTestApi, type TestApi, type TestMember } from '../harness/api.js';
import { createTestDatabase, type TestDatabase } from '../harness/database.js';
import { graphqlMember } from '../harness/graphql-member.js';
import { connect, signingSecret, startSyntrix } from '../harness/syntrix-stage.js';

const SAVE = 'mutation($definition: JSON!) { saveTrigger(input: { definition: $definition }) { trigger { id } } }';

let database: TestDatabase;
let server: SyntrixServer;
let api: TestApi;
let admin: TestMember;

beforeAll(async () => {
  database = await createTestDatabase();
  server = await startSyntrix();
  api = await startTestApi(database, {
    env: { TRIGGERS_SIGNATURE_TOLERANCE_SECONDS: '7200', ALLOW_PRIVATE_TOOL_URLS: 'true' },
  });
  ({ admin } = await api.people.workspaceOf('tolerant'));
  await connect(api, server, { key: admin.key });
});
afterAll(async () => {
  await server.close();
  await api.close();
  await database.close();
});

const definition = {
  triggerId: 'hook',
  source: 'webhook',
  secretsRef: 'SYNTRIX_SECRET',
  condition: 'false',
  start: {},
};
const savedTrigger = async () => {
  const { saveTrigger } = await graphqlMember(api, admin.key).query(SAVE, { definition });
  return (saveTrigger as { trigger: { id: string } }).trigger.id; // as the query asks
};

describe('TRIGGERS_SIGNATURE_TOLERANCE_SECONDS', () => {
  it.each([
    ['an hour', 3_600, 200],
    ['four hours', 14_400, 401],
  ])('decides about a signature that differs by %s from the clock', async (...[, seconds, status]) => {
    const docKey = `users/u/orch-chats/${randomUUID()}/messages/m`;
    const body = JSON.stringify({ event: 'create', docKey, after: { role: 'assistant' } });
    const now = Math.floor(Date.now() / 1_000);
    for (const path of ['/webhook/llm', `/hooks/${await savedTrigger()}`])
      for (const time of [now - seconds, now + seconds]) {
        const headers = {
          'content-type': 'application/json',
          'x-syntrix-signature': signatureOf(signingSecret, body, time),
        };
        expect((await api.call('POST', path, { body, headers })).status).toBe(status);
      }
  });
});
