import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';

import {
  createLogger,
  newId,
  Postgres,
  PrismaService,
  RateCountersRepository,
  SharedRate,
  systemClock,
} from '#platform';

import { createTestDatabase, type TestDatabase } from '../../../../../test/harness/database.js';
import { StartLimiter } from './start-limiter.js';

const rateOf = (value: number) => ({ name: 'TEST', value, raisedBy: 'operator', counts: 'calls' }) as const;
const logger = createLogger({ level: 'silent' });

describe('rate limit counters', () => {
  let database: TestDatabase;
  let other: Postgres;

  beforeAll(async () => {
    database = await createTestDatabase();
    other = Postgres.connect(database.urls, { poolSize: 5 });
  });

  afterAll(async () => {
    await other.close();
    await database.close();
  });

  const countersOf = (postgres: Postgres) => new RateCountersRepository(postgres, new PrismaService(postgres), logger);
  /** Opens the same limit in two processes. */
  const open = (name: string, limit: number) =>
    [database.postgres, other].map(
      (postgres) => new SharedRate(countersOf(postgres).counter(name, limit), rateOf(limit), systemClock),
    );
  const allowed = async (takes: readonly Promise<unknown>[]) =>
    (await Promise.allSettled(takes)).filter(({ status }) => status === 'fulfilled').length;

  it.each([7, 100])('allow %d of 300 parallel starts in two processes', async (limit) => {
    const rates = open(`limit-${limit}`, limit);
    expect(await allowed(Array.from({ length: 300 }, (_, i) => rates[i % 2]?.take('u') ?? never()))).toBe(limit);
  });

  it('count a user across workspaces and a workspace across users', async () => {
    const starter = new StartLimiter(open('user', 3)[0] ?? never(), open('workspace', 5)[0] ?? never());
    const [user, workspaceId] = [newId(), newId()];
    const starts = (count: number, userId: string, where: () => string) =>
      allowed(Array.from({ length: count }, () => starter.take({ userId, workspaceId: where() })));
    expect(await starts(10, user, newId)).toBe(3);
    expect(await starts(10, newId(), () => workspaceId)).toBe(3);
    const second = newId();
    expect(await starts(10, second, () => workspaceId)).toBe(2);
    // What the workspace refused was not counted for the user.
    expect(await starts(10, second, newId)).toBe(1);
  });

  it('apply per process while the database is unavailable', async () => {
    const gone = Postgres.connect(database.urls, { poolSize: 1 });
    await gone.close();
    const rate = new SharedRate(countersOf(gone).counter('away', 4), rateOf(4), systemClock);
    expect(await allowed(Array.from({ length: 20 }, () => rate.take('u')))).toBe(4);
  });
});

function never(): never {
  throw new Error('there are two');
}
