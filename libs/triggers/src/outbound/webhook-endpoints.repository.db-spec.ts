import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';

import { createTestDatabase, type TestDatabase } from '../../../../test/harness/database.js';
import { openTestIdentities, type TestIdentities } from '../../../../test/harness/identities.js';
import { scopeOfUser } from '../../../../test/harness/notifications.js';
import { WebhookEndpointsRepository } from './webhook-endpoints.repository.js';

let database: TestDatabase;
let identities: TestIdentities;

beforeAll(async () => {
  database = await createTestDatabase();
  identities = openTestIdentities(database);
});
afterAll(async () => {
  identities.auth.close();
  await database.close();
});

describe('WebhookEndpointsRepository', () => {
  it('refuses a page of deliveries whose bodies have more than 64 MiB, and reads a smaller one', async () => {
    const { workspaceId, userId } = (await identities.workspaceOf('red')).owner;
    await database.postgres.withWorkspaceSql(workspaceId, (client) =>
      client.query(
        `INSERT INTO webhook_delivery (workspace_id, id, type, body, target, next_at)
         SELECT $1, gen_random_uuid(), 'create', repeat('x', 30000000), '{}', clock_timestamp() FROM generate_series(1, 3)`,
        [workspaceId],
      ),
    );
    const read = (take: number) =>
      database.prisma.withWorkspace({ workspaceId }, (tx) =>
        new WebhookEndpointsRepository().deliveries(tx, scopeOfUser(workspaceId, userId), { filter: {}, take }),
      );
    await expect(read(3)).rejects.toMatchObject({ code: 'too_large' });
    expect(await read(1)).toHaveLength(1);
  });
});
