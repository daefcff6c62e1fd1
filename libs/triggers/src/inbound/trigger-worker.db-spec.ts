import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';

import { Config, createLogger, Metrics, newId, Queues } from '#platform';

import { createTestDatabase, type TestDatabase } from '../../../../test/harness/database.js';
import { eventually } from '../../../../test/harness/eventually.js';
import { openTestIdentities, type TestIdentities } from '../../../../test/harness/identities.js';
import { type RunRef, TriggerRunsRepository } from './trigger-runs.repository.js';
import { TriggerWorker } from './trigger-worker.js';

let database: TestDatabase;
let identities: TestIdentities;
let queues: Queues;

beforeAll(async () => {
  database = await createTestDatabase();
  identities = openTestIdentities(database);
  const config = Config.from({ NODE_ENV: 'test', ROLE: 'worker' });
  const logger = createLogger({ level: 'silent' });
  queues = new Queues({ config, logger, metrics: new Metrics(), postgres: database.postgres });
});
afterAll(async () => {
  await queues.stop();
  identities.auth.close();
  await database.close();
});

/** A workspace with `count` due runs. */
async function workspaceWith(count: number): Promise<string> {
  const { workspaceId } = (await identities.workspaceOf(`runs-${newId()}`)).owner;
  const runs = new TriggerRunsRepository(database.prisma, queues);
  await database.prisma.withWorkspace({ workspaceId }, async (tx) => {
    const triggerId = newId();
    const names = { database: 'd', triggerId: 't', origin: 'api', savedBy: 'user:x' };
    await tx.trigger.create({ data: { workspaceId, id: triggerId, definition: {}, ...names } });
    const event = { type: 'webhook', timestamp: 0, path: '', before: null, document: {} } as const;
    for (let n = 0; n < count; n++)
      await runs.insert(tx, { workspaceId, triggerId, key: `k${n}`, event, delayMs: 0, thread: null });
  });
  return workspaceId;
}

describe('TriggerWorker', () => {
  it('starts a run of one workspace while the starts of another one, with many more runs, take long', async () => {
    const [large, small] = [await workspaceWith(50), await workspaceWith(1)];
    const begun: string[] = [];
    let release: () => void = () => undefined;
    const released = new Promise<void>((resolve) => (release = resolve));
    const starts = {
      start: async ({ workspaceId }: RunRef) => {
        begun.push(workspaceId);
        if (workspaceId === large) await released;
      },
    };
    const none = { start: () => Promise.resolve(), stop: () => Promise.resolve(), listen: () => () => undefined };
    const rest = [none, none, none, createLogger({ level: 'silent' })];
    // It uses nothing else of the other parts until it sweeps.
    const worker = Reflect.construct(TriggerWorker, [queues, none, starts, none, ...rest]) as TriggerWorker;
    await worker.start();
    await eventually('the run of the small workspace is started', () =>
      Promise.resolve(begun.includes(small) ? true : undefined),
    );
    expect(begun.filter((id) => id === large).length).toBeLessThanOrEqual(5);
    release();
    await worker.stop();
  });
});
