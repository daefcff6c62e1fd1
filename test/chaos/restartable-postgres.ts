import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { databaseUrls, migrate, Postgres, PrismaService } from '#platform';

import { postgresHome, serverUser } from '../../libs/platform/src/postgres/postgres-binaries.js';
import {
  initializeCluster,
  type PostgresCluster,
  type PostgresServer,
  startServer,
} from '../../libs/platform/src/postgres/postgres-server.js';
import { TEST_SECRET, type TestDatabase } from '../harness/database.js';

/** A Postgres of its own with one migrated database, which a test may crash and bring back at the same address. */
export interface RestartablePostgres {
  readonly database: TestDatabase;
  /** As `pg_ctl stop -m immediate`, which is a crash: uncommitted changes are lost. Recovers after `whileDown`. */
  crash(whileDown?: () => Promise<unknown>): Promise<void>;
}

export async function startRestartablePostgres(): Promise<RestartablePostgres> {
  const user = serverUser();
  const folder = await mkdtemp(join(tmpdir(), 'nightshift-crash-'));
  await chmod(folder, 0o755);
  const cluster = { home: await postgresHome(user), user, dataDir: join(folder, 'data') };
  await initializeCluster(cluster);
  let server = await startServer(cluster, ['max_connections=200']);
  const { port } = server;
  const urls = databaseUrls(`postgres://postgres@127.0.0.1:${port}/postgres`, TEST_SECRET);
  await migrate(urls);
  const postgres = Postgres.connect(urls, { poolSize: 5 });
  const prisma = await PrismaService.open(postgres);
  return {
    database: {
      name: 'postgres',
      urls,
      postgres,
      prisma,
      close: async () => {
        await prisma.close();
        await postgres.close();
        await server.stop();
        await rm(folder, { recursive: true, force: true });
      },
    },
    crash: async (whileDown) => {
      process.kill(server.pid, 'SIGQUIT');
      await server.exited;
      await whileDown?.();
      server = await restart(cluster, port);
    },
  };
}

/** A commit that was answered survives: only the wait for the disk itself is switched off. */
async function restart(cluster: PostgresCluster, port: number): Promise<PostgresServer> {
  // The last setting of a name counts.
  return startServer(cluster, ['max_connections=200', 'fsync=off', `port=${port}`]);
}
