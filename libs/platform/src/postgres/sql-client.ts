import type { PoolClient, QueryConfig } from 'pg';

/** A connection inside a transaction, as repositories see it. */
export type SqlClient = PoolClient;

/** A statement with its values; under a name it is prepared once per connection. */
export type SqlStatement = QueryConfig;
