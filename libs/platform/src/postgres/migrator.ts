import { setTimeout as pause } from 'node:timers/promises';

import { type AdminClient, withAdminClient } from './admin-client.js';
import { isCatalogRace, retryCatalogRace } from './catalog-race.js';
import { ensureLogins, ensureRoles } from './database-roles.js';
import type { DatabaseUrls } from './database-urls.js';
import { type MigrationFile, ownMigrationsDirectory, readMigrationFiles, statementsOf } from './migration-files.js';
import { migrationChanged, migrationFailed } from './postgres.errors.js';
import { ensureQueueSchema } from './queue-schema.js';
import { supportedVersion } from './server-version.js';

export interface MigrateOptions {
  /** Default: `prisma/migrations` of this build. */
  readonly directory?: string;
}

/** "nsmigrat" as a bigint, the key of the advisory lock: one migrator at a time per database. */
const LOCK = '7958549108262494580';
const LOCK_WAIT_MS = 120_000;
const LOCK_POLL_MS = 100;
const TABLE_LOCK_WAIT_MS = 10_000;

/**
 * Migrates the database of `urls.owner` to this build: roles, pending migrations (one transaction each, except for indexes that are built
 * concurrently), the schema, queues and grants of pg-boss, and logins. Several processes may call it at once, and again at any time. A newer
 * database does not change, so that an old build can serve next to a new one during a rolling deployment. Throws `AppError` with
 * `postgres_too_old`, `migration_changed`, `migration_failed`, `migration_not_allowed` or `database_role_not_ready`.
 */
export async function migrate(urls: DatabaseUrls, options: MigrateOptions = {}): Promise<{ applied: string[] }> {
  const files = await readMigrationFiles(options.directory ?? ownMigrationsDirectory());
  return withAdminClient({ url: urls.owner, applicationName: 'nightshift:migrator' }, async (client) => {
    await supportedVersion(client);
    await lock(client);
    // While a migration waits for a lock, all other statements on the table queue behind it. It is better to fail and restart.
    await client.query(`SET lock_timeout = ${TABLE_LOCK_WAIT_MS}`);
    await ensureRoles(client);
    const applied = await applyFiles(client, files);
    await ensureQueueSchema(client);
    await ensureLogins(client, urls);
    return { applied }; // the end of the session releases the advisory lock
  });
}

async function applyFiles(client: AdminClient, files: readonly MigrationFile[]): Promise<string[]> {
  await client.query(`CREATE TABLE IF NOT EXISTS _migration (
    name text PRIMARY KEY, checksum text NOT NULL, applied_at timestamptz(3) NOT NULL DEFAULT clock_timestamp())`);
  const known = await client.query<{ name: string; checksum: string }>('SELECT name, checksum FROM _migration');
  const checksums = new Map(known.rows.map(({ name, checksum }) => [name, checksum]));
  const changed = files.find(
    ({ name, checksum, replaces }) => ![checksum, ...replaces].includes(checksums.get(name) ?? checksum),
  );
  if (changed !== undefined) throw migrationChanged(changed.name);
  const pending = files.filter(({ name }) => !checksums.has(name));
  for (const file of pending) await retryCatalogRace(() => applyFile(client, file));
  return pending.map(({ name }) => name);
}

/** Polls the lock: a statement that waits holds a snapshot, and `CREATE INDEX CONCURRENTLY` of another process would wait for that. */
async function lock(client: AdminClient): Promise<void> {
  const endsAt = performance.now() + LOCK_WAIT_MS;
  for (;;) {
    const { rows } = await client.query<{ locked: boolean }>('SELECT pg_try_advisory_lock($1) AS locked', [LOCK]);
    if (rows[0]?.locked === true) return;
    if (performance.now() > endsAt) throw new Error('Another process has been migrating the database for two minutes.');
    await pause(LOCK_POLL_MS);
  }
}

async function applyFile(client: AdminClient, file: MigrationFile): Promise<void> {
  try {
    await (file.isTransaction ? applyInTransaction(client, file) : applyStatements(client, file));
  } catch (error) {
    throw isCatalogRace(error) ? error : migrationFailed(file.name, error);
  }
}

async function applyInTransaction(client: AdminClient, file: MigrationFile): Promise<void> {
  await client.query('BEGIN');
  try {
    await client.query(file.sql);
    await record(client, file);
    await client.query('COMMIT');
  } catch (error) {
    await client.query('ROLLBACK');
    throw error;
  }
}

/** The lock timeout is longer, because `CREATE INDEX CONCURRENTLY` waits for open transactions while no statement waits for it. */
async function applyStatements(client: AdminClient, file: MigrationFile): Promise<void> {
  await client.query(`SET lock_timeout = ${LOCK_WAIT_MS}`);
  for (const statement of statementsOf(file)) await client.query(statement);
  await client.query(`SET lock_timeout = ${TABLE_LOCK_WAIT_MS}`);
  await record(client, file);
}

async function record(client: AdminClient, { name, checksum }: MigrationFile): Promise<void> {
  await client.query('INSERT INTO _migration (name, checksum) VALUES ($1, $2)', [name, checksum]);
}
