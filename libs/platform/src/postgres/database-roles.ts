import { createHash, createHmac, pbkdf2Sync, randomBytes } from 'node:crypto';

import { type AdminClient, withAdminClient } from './admin-client.js';
import { retryCatalogRace } from './catalog-race.js';
import type { DatabaseUrls, ServingRole } from './database-urls.js';
import { migrationNotAllowed, roleNotReady } from './postgres.errors.js';

const ROLES = ['nightshift_owner', 'nightshift_api', 'nightshift_engine', 'nightshift_tools'] as const;

/**
 * Creates the missing roles, without a login, and makes the migrating login a member of the owner role. Before any change, throws
 * `migration_not_allowed`, naming the missing privileges.
 */
export async function ensureRoles(client: AdminClient): Promise<void> {
  const lacking = await lackingRights(client);
  if (lacking.length > 0) throw migrationNotAllowed(lacking);
  await retryCatalogRace(async () => {
    for (const role of await missingRoles(client)) {
      await client.query(`CREATE ROLE ${role} NOLOGIN NOSUPERUSER NOBYPASSRLS NOCREATEDB NOCREATEROLE`);
    }
  });
  const member = await client.query<{ usable: boolean }>(
    "SELECT pg_has_role(current_user, 'nightshift_owner', 'USAGE') AND pg_has_role(current_user, 'nightshift_owner', 'SET') AS usable",
  );
  if (member.rows[0]?.usable === true) return;
  // From Postgres 16 on, the creator of a role may administer it but does not inherit its privileges.
  await retryCatalogRace(() => client.query('GRANT nightshift_owner TO CURRENT_USER WITH INHERIT TRUE, SET TRUE'));
}

async function missingRoles(client: AdminClient): Promise<string[]> {
  const found = await client.query<{ rolname: string }>('SELECT rolname FROM pg_roles WHERE rolname = ANY($1)', [
    ROLES,
  ]);
  const names = new Set(found.rows.map(({ rolname }) => rolname));
  return ROLES.filter((role) => !names.has(role));
}

async function lackingRights(client: AdminClient): Promise<string[]> {
  const { rows } = await client.query<{ role: boolean; database: boolean; schema: boolean; owner: boolean }>(`
    SELECT r.rolsuper OR r.rolcreaterole AS role,
           has_database_privilege(current_database(), 'CREATE') AS database,
           has_schema_privilege('public', 'CREATE WITH GRANT OPTION') AS schema,
           NOT EXISTS (SELECT 1 FROM pg_roles WHERE rolname = 'nightshift_owner') OR r.rolsuper OR EXISTS (
             SELECT 1 FROM pg_auth_members m JOIN pg_roles o ON o.oid = m.roleid
              WHERE o.rolname = 'nightshift_owner' AND m.member = r.oid AND (m.admin_option OR (m.inherit_option AND m.set_option))
           ) AS owner
      FROM pg_roles r WHERE r.rolname = current_user`);
  const rights = rows[0];
  if (rights === undefined) return ['a role of its own'];
  const missing = await missingRoles(client);
  return [
    ...(rights.role || missing.length === 0
      ? []
      : [`CREATEROLE (or ask an administrator to create ${missing.join(', ')})`]),
    ...(rights.database ? [] : ['CREATE on the database']),
    ...(rights.schema ? [] : ['CREATE on schema public with grant option (the owner of the database has it)']),
    ...(rights.owner ? [] : ['membership in nightshift_owner (GRANT nightshift_owner TO the login)']),
  ];
}

/** Sets the passwords of the serving roles to those of their URLs. Does not change a role that can already log in. */
export async function ensureLogins(client: AdminClient, urls: DatabaseUrls): Promise<void> {
  await ensureLogin(client, 'nightshift_api', urls.api);
  await ensureLogin(client, 'nightshift_engine', urls.worker);
  await ensureLogin(client, 'nightshift_tools', urls.tools);
}

async function ensureLogin(client: AdminClient, role: ServingRole, url: string): Promise<void> {
  if (await canLogIn(url)) return;
  const verifier = scramVerifier(decodeURIComponent(new URL(url).password));
  try {
    await retryCatalogRace(() => client.query(`ALTER ROLE ${role} LOGIN PASSWORD '${verifier}'`));
  } catch (error) {
    throw roleNotReady(role, error);
  }
}

/** Whether the server accepts the login of a URL now. */
export async function canLogIn(url: string): Promise<boolean> {
  return withAdminClient({ url }, () => Promise.resolve(true)).catch(() => false);
}

/**
 * The verifier that Postgres stores for a password (RFC 7677, SCRAM-SHA-256). This process computes it, so that no server log contains the
 * password.
 */
export function scramVerifier(password: string, salt = randomBytes(16)): string {
  const iterations = 4_096;
  const salted = pbkdf2Sync(password, salt, iterations, 32, 'sha256');
  const hmac = (text: string) => createHmac('sha256', salted).update(text).digest();
  const storedKey = createHash('sha256').update(hmac('Client Key')).digest('base64');
  const serverKey = hmac('Server Key').toString('base64');
  return `SCRAM-SHA-256$${iterations}:${salt.toString('base64')}$${storedKey}:${serverKey}`;
}
