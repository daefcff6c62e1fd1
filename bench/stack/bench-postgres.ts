import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import pg from 'pg';

import { type DatabaseUrls, databaseUrls, migrate } from '#platform';

import { postgresHome, serverUser } from '../../libs/platform/src/postgres/postgres-binaries.js';
import {
  initializeCluster,
  type PostgresServer,
  startServer,
} from '../../libs/platform/src/postgres/postgres-server.js';

/** The secret of everything that is measured. */
export const BENCH_SECRET = 'the secret of the benches, known to all';

/**
 * What makes figures comparable: the durability of production (fsync, synchronous_commit and full_page_writes stay on),
 * no checkpoint in the middle of a run, and the statistics that tell where time goes.
 */
const SETTINGS = [
  'max_connections=200',
  'shared_buffers=256MB',
  'max_wal_size=4GB',
  'checkpoint_timeout=30min',
  'track_commit_timestamp=on',
  'shared_preload_libraries=pg_stat_statements',
  'pg_stat_statements.track_planning=on',
];

/** A Postgres of its own for one bench, thrown away afterwards. */
export class BenchPostgres {
  private constructor(
    readonly urls: DatabaseUrls,
    /** A superuser's connection, for counters only. */
    readonly admin: pg.Client,
    private readonly server: PostgresServer,
    private readonly folder: string,
  ) {}

  static async start(): Promise<BenchPostgres> {
    const user = serverUser();
    const folder = await mkdtemp(join(tmpdir(), 'nightshift-bench-'));
    await chmod(folder, 0o755); // the server runs as another user
    const cluster = { home: await postgresHome(user), user, dataDir: join(folder, 'data') };
    await initializeCluster(cluster);
    const server = await startServer(cluster, SETTINGS);
    const owner = `postgres://postgres@127.0.0.1:${server.port}/postgres`;
    const urls = databaseUrls(owner, BENCH_SECRET);
    await migrate(urls);
    const admin = new pg.Client({ connectionString: owner });
    await admin.connect();
    await admin.query('CREATE EXTENSION pg_walinspect; CREATE EXTENSION pg_stat_statements');
    return new BenchPostgres(urls, admin, server, folder);
  }

  get pid(): number {
    return this.server.pid;
  }

  /** After a warm-up: what autovacuum would have done by then, so that plans fit the tables as they are now. */
  async settle(): Promise<void> {
    await this.admin.query('VACUUM (ANALYZE)');
  }

  async close(): Promise<void> {
    await this.admin.end();
    await this.server.stop();
    await rm(this.folder, { recursive: true, force: true });
  }
}
