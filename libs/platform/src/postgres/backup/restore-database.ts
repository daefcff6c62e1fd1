import { type AdminClient, withAdminClient } from '../admin-client.js';
import { ensureRoles } from '../database-roles.js';
import type { DatabaseUrls } from '../database-urls.js';
import { ownMigrationsDirectory, readMigrationFiles } from '../migration-files.js';
import { migrate } from '../migrator.js';
import { QUEUE_SCHEMA, TOOL_QUEUES } from '../queue-list.js';
import { deleteMessages } from '../queue-schema.js';
import { supportedVersion } from '../server-version.js';
import { type Archive, readArchive } from './archive.js';
import {
  backupOfNewerBuild,
  databaseInUse,
  databaseNotEmpty,
  ownerMissing,
  serverOlderThanBackup,
} from './backup.errors.js';
import { findPgTools } from './pg-tools.js';
import { runPgTool } from './run-pg-tool.js';

export interface RestoreInit {
  readonly urls: DatabaseUrls;
  readonly file: string;
  /** The variable PATH. */
  readonly path: string;
  /** Whether to delete an existing installation. */
  readonly replace: boolean;
  /** Adapts the rows to the time since the backup, before any process may start. */
  readonly adapt: () => Promise<void>;
}

/**
 * Restores a backup to the database of `urls`: its roles, schema and rows, then the migrations of this build and the logins of `urls`. No
 * process may be connected. Throws `not_a_backup`, `database_not_empty`, `database_in_use`, `pg_tools_missing`, `pg_tool_failed`,
 * `restore_not_allowed`, `postgres_too_old`, `backup_too_new`, and the errors of `migrate`. After a failure the database is empty, or
 * contains the backup without the changes of `adapt`: restore again with `replace`.
 */
export async function restoreDatabase(init: RestoreInit): Promise<{ readonly server: string }> {
  const { urls, file, path } = init;
  return withAdminClient({ url: urls.owner, applicationName: 'nightshift:restore' }, async (client) => {
    const server = await supportedVersion(client);
    const tools = await findPgTools(server, path);
    const archive = await readArchive(tools, file);
    if (archive.serverMajor > server.major) throw serverOlderThanBackup(file, archive.serverMajor, server.text);
    await assertUnused(client);
    await makeRoom(client, init.replace);
    await ensureRoles(client);
    // The new owner of an object needs CREATE on its schema, unless the login is a superuser.
    await client.query('GRANT USAGE, CREATE ON SCHEMA public TO nightshift_owner');
    await ensureOwners(client, archive);
    await runPgTool(tools, {
      tool: 'pg_restore',
      arguments: ['--single-transaction', '--exit-on-error', '--no-password', file],
      databaseUrl: urls.owner,
    });
    await assertKnownMigrations(client, file);
    await migrate(urls);
    // Processes may have run these calls since the backup. The rows of the calls decide which are sent again.
    await deleteMessages(client, TOOL_QUEUES.requests);
    await init.adapt();
    await client.query('ANALYZE');
    return { server: server.text };
  });
}

/** A running process would write to tables that are being replaced. */
async function assertUnused(client: AdminClient): Promise<void> {
  const { rows } = await client.query<{ sessions: number }>(`
    SELECT count(*)::int AS sessions FROM pg_stat_activity
     WHERE datname = current_database() AND pid <> pg_backend_pid()
       AND (usename IN ('nightshift_api', 'nightshift_engine', 'nightshift_tools') OR application_name LIKE 'nightshift%')`);
  const sessions = rows[0]?.sessions ?? 0;
  if (sessions > 0) throw databaseInUse(sessions);
}

async function makeRoom(client: AdminClient, replace: boolean): Promise<void> {
  const { rows } = await client.query<{ taken: boolean }>(
    `SELECT to_regclass('public._migration') IS NOT NULL OR to_regnamespace('${QUEUE_SCHEMA}') IS NOT NULL AS taken`,
  );
  if (rows[0]?.taken !== true) return;
  if (!replace) throw databaseNotEmpty();
  await client.query(`
    BEGIN;
    DROP SCHEMA IF EXISTS ${QUEUE_SCHEMA} CASCADE;
    DROP SCHEMA IF EXISTS tool_process CASCADE;
    DROP SCHEMA public CASCADE;
    CREATE SCHEMA public;
    ALTER SCHEMA public OWNER TO pg_database_owner;
    GRANT USAGE ON SCHEMA public TO PUBLIC;
    COMMIT;`);
}

/** The login that ran the migrations owns some objects. If it does not exist here, a role of its name without a login is created. */
async function ensureOwners(client: AdminClient, { owners }: Archive): Promise<void> {
  for (const role of owners) {
    const { rows } = await client.query<{ there: boolean; usable: boolean | null }>(
      `SELECT count(*) = 1 AS there, bool_or(pg_has_role(current_user, oid, 'USAGE') AND pg_has_role(current_user, oid, 'SET')) AS usable
         FROM pg_roles WHERE rolname = $1`,
      [role],
    );
    const name = client.escapeIdentifier(role);
    if (rows[0]?.there !== true) {
      await client.query(`CREATE ROLE ${name} NOLOGIN NOSUPERUSER NOBYPASSRLS NOCREATEDB NOCREATEROLE`);
      await client.query(`GRANT ${name} TO CURRENT_USER WITH INHERIT TRUE, SET TRUE`);
    } else if (rows[0].usable !== true) throw ownerMissing(role);
  }
}

async function assertKnownMigrations(client: AdminClient, file: string): Promise<void> {
  const known = new Set((await readMigrationFiles(ownMigrationsDirectory())).map(({ name }) => name));
  const { rows } = await client.query<{ name: string }>('SELECT name FROM _migration ORDER BY name');
  const unknown = rows.find(({ name }) => !known.has(name));
  if (unknown !== undefined) throw backupOfNewerBuild(file, unknown.name);
}
