import { randomUUID } from 'node:crypto';
import type { Duplex } from 'node:stream';

import pg from 'pg';

import { processName } from '../process-name.js';
import { asAvailabilityError } from './availability.js';
import type { DatabaseUrls } from './database-urls.js';

/** `application_name` of the connections of a process that serves the tool queue, before the pool's name. */
export const TOOL_PROCESS_CONNECTIONS = 'nightshift-tools';

export interface PostgresOptions {
  /** Maximum connections of each pool except `reserved`. */
  readonly poolSize: number;
  /** The prefix of `application_name` in pg_stat_activity, before the pool's name. Default "nightshift". */
  readonly applicationName?: string;
  /** Runs after an idle connection broke; the pool replaces it. */
  readonly onIdleError?: (error: Error) => void;
}

/**
 * The connection pools of one process. Every wait is limited: 5 s for a connection, 30 s for a statement (35 s on the client, for a server
 * that stops responding), 5 s for a lock, 30 s for an idle client in a transaction.
 */
export class Postgres {
  private closing: Promise<void> | undefined;

  private constructor(
    /** Login `nightshift_api`. It sees rows only inside `withWorkspaceSql`. Prisma shares the pool. */
    readonly api: pg.Pool,
    /** Login `nightshift_engine`. */
    readonly workerPool: pg.Pool,
    /** One connection of the workers' login for lease renewals, so that no other work can delay them; 5 s per statement. */
    readonly reserved: pg.Pool,
    /** Whether the login is that of tool processes, which sees rows of a workspace only while this process has a claimed call in it. */
    readonly isToolProcess: boolean,
  ) {}

  /** Opens no connections: the first use does. */
  static connect(urls: Pick<DatabaseUrls, 'api' | 'worker'>, options: PostgresOptions): Postgres {
    return Postgres.open(urls, options);
  }

  /** Opens the pools of an isolated tool process: all use its login and see the data of the calls that it has claimed. */
  static connectToolProcess(url: string, options: PostgresOptions): Postgres {
    // Random, so that no other tool process can impersonate this one: see the migration of tool processes.
    const owner = `${processName()}#${randomUUID()}`;
    return Postgres.open({ api: url, worker: url }, options, owner);
  }

  private static open(urls: Pick<DatabaseUrls, 'api' | 'worker'>, options: PostgresOptions, owner?: string): Postgres {
    const common = { ...options, ...(owner === undefined ? {} : { session: toolSession(owner) }) };
    return new Postgres(
      createPool({ ...common, url: urls.api, name: 'api', statementMs: 30_000 }),
      createPool({ ...common, url: urls.worker, name: 'engine', statementMs: 30_000 }),
      createPool({ ...common, url: urls.worker, name: 'reserved', statementMs: 5_000, poolSize: 1 }),
      owner !== undefined,
    );
  }

  /**
   * Runs `run` in one transaction that sees only the rows of `workspaceId` (row-level security). Commits if it resolves, and rolls back if it
   * rejects. The setting is local to the transaction, so a pooled connection keeps nothing. Throws `unavailable` (retryable) if the database
   * is down or the pool stays exhausted for 5 s.
   */
  async withWorkspaceSql<T>(workspaceId: string, run: (client: pg.PoolClient) => Promise<T>): Promise<T> {
    const client = await this.connectToApi();
    let broken = false;
    try {
      // The first statements of `run` are sent together with `BEGIN`, in this order. If one fails, all later ones fail too.
      const [, done] = await Promise.all(
        inOneWrite(client, () => [client.query(opening(client, workspaceId)), run(client)] as const),
      );
      await client.query('COMMIT');
      return done;
    } catch (error) {
      // A connection whose rollback fails is closed, never reused.
      await client.query('ROLLBACK').catch(() => (broken = true));
      throw asAvailabilityError(error);
    } finally {
      client.release(broken);
    }
  }

  /**
   * Runs one query in a transaction that sees only the rows of `workspaceId`. Begin, statement and commit are one message each, sent in one
   * write: in the hot path this is much cheaper than `withWorkspaceSql`.
   */
  async readInWorkspace<Row extends pg.QueryResultRow>(workspaceId: string, statement: pg.QueryConfig): Promise<Row[]> {
    const [rows = []] = await this.allInWorkspace<Row>(workspaceId, () => [statement]);
    return rows;
  }

  /**
   * Runs statements that do not need each other's results, in one transaction and one round trip. When it resolves, the transaction has
   * committed. Each statement sees all rows that were committed before it began, so a statement may take locks for the next one. `prepare`
   * runs right before they are sent. Returns the rows of each statement. Throws `unavailable` like `withWorkspaceSql`.
   */
  async allInWorkspace<Row extends pg.QueryResultRow>(
    workspaceId: string,
    prepare: () => readonly pg.QueryConfig[],
  ): Promise<Row[][]> {
    const client = await this.connectToApi();
    let statements: readonly pg.QueryConfig[];
    try {
      statements = prepare();
    } catch (error) {
      client.release();
      throw error;
    }
    return allInOneWrite<Row>(client, opening(client, workspaceId), statements);
  }

  /** Runs the statements in one transaction with the workers' login, which sees the rows of every workspace. */
  async allAsWorker<Row extends pg.QueryResultRow>(statements: readonly pg.QueryConfig[]): Promise<Row[][]> {
    const client = await this.workerPool.connect().catch((error: unknown) => {
      throw asAvailabilityError(error);
    });
    return allInOneWrite<Row>(client, 'BEGIN', statements);
  }

  private async connectToApi(): Promise<pg.PoolClient> {
    return this.api.connect().catch((error: unknown) => {
      throw asAvailabilityError(error);
    });
  }

  /** Waits for connections in use, then closes all. Idempotent. */
  close(): Promise<void> {
    this.closing ??= Promise.all([this.api.end(), this.workerPool.end(), this.reserved.end()]).then(() => undefined);
    return this.closing;
  }
}

/** Sends one transaction in one write: `begin`, the statements, the commit. Returns the rows of each statement and releases the client. */
async function allInOneWrite<Row extends pg.QueryResultRow>(
  client: pg.PoolClient,
  begin: string,
  statements: readonly pg.QueryConfig[],
): Promise<Row[][]> {
  const [answers, [opened, ended]] = await Promise.all(
    inOneWrite(client, () => {
      const begun = client.query(begin);
      const asked = statements.map((statement) => client.query<Row>(statement));
      // After a failed statement, COMMIT rolls back.
      return [Promise.allSettled(asked), Promise.allSettled([begun, client.query('COMMIT')])] as const;
    }),
  );
  client.release(ended.status === 'rejected');
  for (const end of [...answers, opened, ended]) if (end.status === 'rejected') throw asAvailabilityError(end.reason);
  return answers.map((answer) => (answer.status === 'fulfilled' ? answer.value.rows : []));
}

/** Begins a transaction and binds it to the workspace, in one message. */
function opening(client: pg.PoolClient, workspaceId: string): string {
  return `BEGIN; SELECT set_config('app.workspace', ${client.escapeLiteral(workspaceId)}, true)`;
}

/** The first statement of each connection of a tool process. The views of its schema hide tables of the same name. */
function toolSession(owner: string): string {
  return `SELECT set_config('search_path', 'tool_process, public', false),
    set_config('app.tool_process', ${pg.escapeLiteral(owner)}, false)`;
}

/** Sends all statements that `ask` makes synchronously in one write, because a system call for each would cost more than the statement. */
function inOneWrite<T>(client: pg.PoolClient, ask: () => T): T {
  const { stream } = (client as unknown as { connection: { stream: Duplex } }).connection; // every client of the driver has this field
  stream.cork();
  try {
    return ask();
  } finally {
    stream.uncork();
  }
}

interface PoolInit extends PostgresOptions {
  readonly url: string;
  readonly name: string;
  readonly statementMs: number;
  /** The first statement of each new connection. */
  readonly session?: string;
}

function createPool(init: PoolInit): pg.Pool {
  const pool = new pg.Pool({
    ...connectionLimits(init.statementMs),
    connectionString: init.url,
    options: '-c TimeZone=UTC', // Prisma writes instants in UTC without a time zone
    application_name: `${init.applicationName ?? 'nightshift'}:${init.name}`,
    max: init.poolSize,
    // Statements of one connection are sent without waiting for earlier results; the server keeps their order.
    pipeline: true,
    idleTimeoutMillis: 30_000,
  });
  // Without a listener, an idle connection that breaks would end the process. `end` resolves before the server has closed its side, so a
  // server that stops then can break a connection that is being closed.
  pool.on('error', (error) => {
    if (!pool.ending) init.onIdleError?.(error);
  });
  // The pool listens only while a connection is idle. A connection that breaks between two statements of a transaction must not end the
  // process either; its next statement rejects.
  pool.on('connect', (client) => client.on('error', () => undefined));
  const { session } = init;
  // If it fails, every later statement lacks its privileges, so the failure needs no handling here.
  if (session !== undefined) pool.on('connect', (client) => void client.query(session).catch(() => undefined));
  return pool;
}

/** Timeouts of every connection; the driver has none by default. */
export function connectionLimits(statementMs: number) {
  return {
    connectionTimeoutMillis: 5_000,
    statement_timeout: statementMs,
    query_timeout: statementMs + 5_000,
    lock_timeout: 5_000,
    idle_in_transaction_session_timeout: 30_000,
    keepAlive: true,
  };
}
