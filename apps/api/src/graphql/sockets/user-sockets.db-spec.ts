import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';

import { Config, createLogger, newId, Postgres, PrismaService } from '#platform';

import { createTestDatabase, type TestDatabase } from '../../../../../test/harness/database.js';
import { UserSockets } from './user-sockets.js';
import { UserSocketsRepository } from './user-sockets.repository.js';

const logger = createLogger({ level: 'silent' });
const config = Config.from({ SOCKETS_PER_USER: '5' });

describe('the limit of open connections of a user', () => {
  let database: TestDatabase;
  const opened: UserSockets[] = [];

  beforeAll(async () => {
    database = await createTestDatabase();
  });

  afterAll(async () => {
    for (const sockets of opened) sockets.onModuleDestroy();
    await database.close();
  });

  const process = (prisma = database.prisma) => {
    const sockets = new UserSockets(new UserSocketsRepository(prisma), config, logger);
    opened.push(sockets);
    return sockets;
  };
  const openAll = async (processes: readonly UserSockets[], userId: string, count: number) => {
    const ends = await Promise.allSettled(
      Array.from({ length: count }, (_, i) => (processes[i % processes.length] ?? process()).open(userId)),
    );
    return ends.flatMap((end) => (end.status === 'fulfilled' ? [end.value] : []));
  };

  it('counts the connections of all processes together', async () => {
    const processes = [process(), process(), process()];
    const user = newId();
    const closes = await openAll(processes, user, 30);
    expect(closes).toHaveLength(5);
    expect(await openAll([process()], newId(), 10)).toHaveLength(5);
    for (const close of closes) {
      close();
      close();
    }
    await Promise.all(processes.map((one) => one.settled()));
    expect(processes.map(({ size }) => size)).toEqual([0, 0, 0]);
    expect(await openAll([process()], user, 10)).toHaveLength(5);
  });

  it('counts the connections of a killed process until its lease expires', async () => {
    const user = newId();
    expect(await openAll([process()], user, 5)).toHaveLength(5);
    expect(await openAll([process()], user, 1)).toHaveLength(0);
    await database.postgres.api.query(
      `UPDATE user_sockets SET processes = (SELECT jsonb_object_agg(key, value || '{"until": 1}') FROM jsonb_each(processes))
        WHERE user_id = $1`,
      [user],
    );
    expect(await openAll([process()], user, 10)).toHaveLength(5);
  });

  it('keeps the newest count when a renewal and an opening connection overlap', async () => {
    const calls: string[] = [];
    const repository = new UserSocketsRepository(database.prisma);
    const [open, renew] = [repository.open.bind(repository), repository.renew.bind(repository)];
    repository.open = async (holder, lease, limit) => {
      calls.push(`open ${lease.sockets}`);
      return open(holder, lease, limit).finally(() => calls.push('opened'));
    };
    repository.renew = async (holder, leases) => {
      calls.push(`renew ${leases.map(({ sockets }) => sockets).join()}`);
      return renew(holder, leases).finally(() => calls.push('renewed'));
    };
    const sockets = new UserSockets(repository, config, logger);
    opened.push(sockets);
    const user = newId();
    await Promise.all([sockets.open(user), sockets.renew(), sockets.open(user)]);
    expect(calls).toEqual(['open 1', 'opened', 'renew 1', 'renewed', 'open 2', 'opened']);
    expect(await openAll([process()], user, 10)).toHaveLength(3);
  });

  it('applies per process while the database is unavailable', async () => {
    const gone = Postgres.connect(database.urls, { poolSize: 1 });
    await gone.close();
    expect(await openAll([process(new PrismaService(gone))], newId(), 10)).toHaveLength(5);
  });
});
