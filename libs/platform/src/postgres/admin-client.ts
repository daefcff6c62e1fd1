import pg from 'pg';

import { defined } from '../defined.js';

/** A connection outside of the pools, for administration of the database: versions, roles, migrations, backups. */
export type AdminClient = pg.Client;

interface AdminLogin {
  readonly url: string;
  /** Shown in pg_stat_activity. */
  readonly applicationName?: string;
}

/** Runs `work` with a separate connection and closes it. Rejects if the server cannot be reached within 10 s or rejects the login. */
export async function withAdminClient<T>(login: AdminLogin, work: (client: AdminClient) => Promise<T>): Promise<T> {
  const client = new pg.Client({
    connectionString: login.url,
    ...defined({ application_name: login.applicationName }),
    connectionTimeoutMillis: 10_000,
    keepAlive: true,
  });
  client.on('error', () => undefined); // a lost connection also rejects the pending query
  try {
    await client.connect();
    return await work(client);
  } finally {
    await client.end().catch(() => undefined);
  }
}
