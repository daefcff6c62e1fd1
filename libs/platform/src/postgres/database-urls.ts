import { createHmac } from 'node:crypto';

import { toolsKeyOf } from '../secrets/installation-secret.js';

/** The logins of one database. All processes of an installation derive the same ones from the same secret. */
export interface DatabaseUrls {
  /** For migrations only; no serving process uses it. */
  readonly owner: string;
  /** `nightshift_api`: endpoints and handlers; row-level security applies. */
  readonly api: string;
  /** `nightshift_engine`: group writer, leases, sweeper, bus; narrow grants. */
  readonly worker: string;
  /** `nightshift_tools`: isolated tool processes; takes and settles calls. */
  readonly tools: string;
}

/** The roles of serving processes. Their names are fixed, because policies and grants contain them. */
export type ServingRole = 'nightshift_api' | 'nightshift_engine' | 'nightshift_tools';

/** The role's password: HMAC-SHA-256 (RFC 2104) of `database-role:<role>` under `secret`, base64url. */
export function rolePassword(secret: string, role: ServingRole): string {
  return createHmac('sha256', secret).update(`database-role:${role}`).digest('base64url');
}

/** The URLs of the serving roles, with the server, database and parameters (including TLS) of the owner's URL. */
export function databaseUrls(ownerUrl: string, secret: string): DatabaseUrls {
  const as = (role: ServingRole) => withLogin(ownerUrl, role, secret);
  return {
    owner: ownerUrl,
    api: as('nightshift_api'),
    worker: as('nightshift_engine'),
    tools: toolsDatabaseUrl(ownerUrl, toolsKeyOf(secret)),
  };
}

/** The URL of tool processes on the same server and database. Its password is derived from their key, not from the root secret. */
export function toolsDatabaseUrl(databaseUrl: string, toolsKey: string): string {
  return withLogin(databaseUrl, 'nightshift_tools', toolsKey);
}

function withLogin(databaseUrl: string, role: ServingRole, secret: string): string {
  const url = new URL(databaseUrl);
  url.username = role;
  url.password = rolePassword(secret, role);
  return url.toString();
}

/** The same login and server with another database. */
export function withDatabase(databaseUrl: string, database: string): string {
  const url = new URL(databaseUrl);
  url.pathname = `/${database}`;
  return url.toString();
}
