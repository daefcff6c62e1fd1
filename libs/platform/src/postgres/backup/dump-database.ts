import { access, chmod, open, rename, rm, stat } from 'node:fs/promises';

import { type AdminClient, withAdminClient } from '../admin-client.js';
import { supportedVersion } from '../server-version.js';
import { backupExists, rowsHidden } from './backup.errors.js';
import { findPgTools } from './pg-tools.js';
import { runPgTool } from './run-pg-tool.js';

export interface DumpInit {
  /** The URL of the migrating login. */
  readonly databaseUrl: string;
  readonly file: string;
  /** The variable PATH. */
  readonly path: string;
}

/** The contents of a backup. */
export interface WrittenBackup {
  readonly file: string;
  readonly bytes: number;
  readonly server: string;
  readonly tools: string;
}

/**
 * Writes one consistent snapshot of the database in pg_dump's custom format, readable for this user only; processes may serve meanwhile. The
 * file gets its name only when it is complete. Throws `backup_exists`, `pg_tools_missing`, `backup_not_allowed`, `postgres_too_old`,
 * `pg_tool_failed`.
 */
export async function dumpDatabase({ databaseUrl, file, path }: DumpInit): Promise<WrittenBackup> {
  if (await isThere(file)) throw backupExists(file);
  const { server, bypassesRls } = await inspect(databaseUrl);
  const tools = await findPgTools(server, path);
  const draft = `${file}.partial`;
  await rm(draft, { force: true });
  await (await open(draft, 'w', 0o600)).close();
  try {
    // The policies of nightshift_owner show every row to its members, but without this flag pg_dump rejects any policy.
    const rows = bypassesRls ? [] : ['--enable-row-security'];
    await runPgTool(tools, {
      tool: 'pg_dump',
      arguments: ['--format=custom', '--no-password', ...rows, `--file=${draft}`],
      databaseUrl,
    });
    await chmod(draft, 0o600);
    await rename(draft, file);
  } finally {
    await rm(draft, { force: true });
  }
  const { size: bytes } = await stat(file);
  return { file, bytes, server: server.text, tools: tools.version };
}

async function inspect(databaseUrl: string) {
  return withAdminClient({ url: databaseUrl }, async (client) => {
    const server = await supportedVersion(client);
    const { rows } = await client.query<{ bypasses: boolean }>(
      'SELECT rolsuper OR rolbypassrls AS bypasses FROM pg_roles WHERE rolname = current_user',
    );
    const bypassesRls = rows[0]?.bypasses === true;
    if (!bypassesRls) await assertReadsEveryRow(client);
    return { server, bypassesRls };
  });
}

/** A dump that omits rows would look complete, so each protected table needs a policy that shows this login every row. */
async function assertReadsEveryRow(client: AdminClient): Promise<void> {
  const { rows } = await client.query<{ name: string }>(`
    SELECT c.relname AS name FROM pg_class c
     WHERE c.relnamespace = 'public'::regnamespace AND c.relrowsecurity AND NOT EXISTS (
       SELECT 1 FROM pg_policy p WHERE p.polrelid = c.oid AND p.polpermissive AND p.polcmd IN ('r', '*')
          AND pg_get_expr(p.polqual, p.polrelid) = 'true'
          AND EXISTS (SELECT 1 FROM unnest(p.polroles) AS r (oid) WHERE r.oid = 0 OR pg_has_role(current_user, r.oid, 'USAGE')))
     ORDER BY 1`);
  if (rows.length > 0) throw rowsHidden(rows.map(({ name }) => name));
}

async function isThere(file: string): Promise<boolean> {
  return access(file).then(
    () => true,
    () => false,
  );
}
