import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';

import { newId, type Queues } from '#platform';

import { createTestDatabase, type TestDatabase } from '../../../../test/harness/database.js';
import { forbidColumns } from '../../../../test/harness/forbidden-columns.js';
import { openTestIdentities, type TestIdentities } from '../../../../test/harness/identities.js';
import { scopeOfUser } from '../../../../test/harness/notifications.js';
import { TriggerRunsRepository } from './trigger-runs.repository.js';

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

describe('TriggerRunsRepository', () => {
  it('lists runs without their event, which can have some MiB', async () => {
    const { workspaceId, userId } = (await identities.workspaceOf('red')).owner;
    const [triggerId, id] = [newId(), newId()];
    const runs = new TriggerRunsRepository(database.prisma, {} as Queues); // a list sends no message
    await database.prisma.withWorkspace({ workspaceId }, async (tx) => {
      const names = { database: 'd', triggerId: 't', origin: 'api', savedBy: 'user:x' };
      await tx.trigger.create({ data: { workspaceId, id: triggerId, definition: {}, ...names } });
      await tx.triggerRun.create({ data: { workspaceId, id, triggerId, key: 'k', event: {}, tryAt: new Date() } });
    });
    await forbidColumns(database, 'trigger_run', ['event', 'file_hashes']);
    const listed = await database.prisma.withWorkspace({ workspaceId }, (tx) =>
      runs.list(tx, scopeOfUser(workspaceId, userId), { triggerId, status: null, take: 10 }),
    );
    expect(listed).toMatchObject([{ id, triggerId, status: 'due' }]);
  });
});
