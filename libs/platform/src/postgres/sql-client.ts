import type { PoolClient } from 'pg';

/** A connection inside a transaction, as repositories see it. */
export type SqlClient = PoolClient;
