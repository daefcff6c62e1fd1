import type { AdminClient } from './admin-client.js';
import { postgresTooOld } from './postgres.errors.js';

/** The oldest Postgres with the INHERIT option of role memberships, which the migrations use. */
const OLDEST_MAJOR = 16;

/** A server's version, such as `18.4` of major 18. */
export interface ServerVersion {
  readonly major: number;
  readonly text: string;
}

/** Throws `postgres_too_old` if the migrations do not support the server. */
export async function supportedVersion(client: AdminClient): Promise<ServerVersion> {
  const version = await serverVersion(client);
  if (version.major < OLDEST_MAJOR) throw postgresTooOld(version.text, OLDEST_MAJOR);
  return version;
}

async function serverVersion(client: AdminClient): Promise<ServerVersion> {
  const { rows } = await client.query<{ number: number; text: string }>(
    `SELECT current_setting('server_version_num')::int AS number, current_setting('server_version') AS text`,
  );
  const { number = 0, text = 'unknown' } = rows[0] ?? {};
  return { major: Math.trunc(number / 10_000), text: text.split(' ')[0] ?? text };
}
