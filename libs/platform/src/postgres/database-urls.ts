import { createHmac } from 'node:crypto';

import { toolsKeyOf } from '../secrets/installation-secret.js';

/** The logins of one database. All servers of an installation derive the same ones from the same secret. */
export interface DatabaseUrls {
  /** Migrations only; no process serves requests as it. */
  readonly owner: string;
  /** `nightshift_api`: endpoints and handlers; row-level security applies. */
  readonly api: string;
  /** `nightshift_engine`: group writer, leases, sweeper, bus; narrow grants. */
  readonly engine: string;
  /** `nightshift_tools`: isolated tool processes; takes and settles calls. */
  readonly tools: string;
}

/** The roles that serve; names are fixed because policies and grants name them. */
export type ServingRole = 'nightshift_api' | 'nightshift_engine' | 'nightshift_tools';

/** The role's password: HMAC-SHA-256 (RFC 2104) of `database-role:<role>` under `secret`, base64url. */
export function rolePassword(secret: string, role: ServingRole): string {
  return createHmac('sha256', secret).update(`database-role:${role}`).digest('base64url');
}

/** The owner's server and database (and its parameters, TLS included) with the logins of the serving roles. */
export function databaseUrls(ownerUrl: string, secret: string): DatabaseUrls {
  const as = (role: ServingRole) => withLogin(ownerUrl, role, secret);
  return {
    owner: ownerUrl,
    api: as('nightshift_api'),
    engine: as('nightshift_engine'),
    tools: toolsDatabaseUrl(ownerUrl, toolsKeyOf(secret)),
  };
}

/** The same server and database with the login of tool processes. Its password comes from their key, not from the root secret. */
export function toolsDatabaseUrl(databaseUrl: string, toolsKey: string): string {
  return withLogin(databaseUrl, 'nightshift_tools', toolsKey);
}

function withLogin(databaseUrl: string, role: ServingRole, secret: string): string {
  const url = new URL(databaseUrl);
  url.username = role;
  url.password = rolePassword(secret, role);
  return url.toString();
}

/** The same login and server, another database. */
export function withDatabase(databaseUrl: string, database: string): string {
  const url = new URL(databaseUrl);
  url.pathname = `/${database}`;
  return url.toString();
}
