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
  /** Shown in pg_stat_activity, followed by the pool's name. Default "nightshift". */
  readonly applicationName?: string;
  /** Called for a connection that broke while idle; the pool replaces it by itself. */
  readonly onIdleError?: (error: Error) => void;
}

/**
 * The connection pools of one process. Every wait is bounded: 5 s for a connection, 30 s for a statement (35 s by our own
 * clock, which also covers a server that went silent), 5 s for a lock, 30 s for an idle client in a transaction.
 */
export class Postgres {
  private closing: Promise<void> | undefined;

  private constructor(
    /** Login `nightshift_api`; rows only inside `withWorkspaceSql`. Prisma shares it. */
    readonly api: pg.Pool,
    /** Login `nightshift_engine`. */
    readonly engine: pg.Pool,
    /** One connection of the engine login for lease renewals, which no amount of work can starve; 5 s a statement. */
    readonly reserved: pg.Pool,
    /** Whether the login is that of tool processes, which sees rows of workspaces with a call that this process has claimed. */
    readonly isToolProcess: boolean,
  ) {}

  /** Opens nothing yet: connections are made on first use. */
  static connect(urls: Pick<DatabaseUrls, 'api' | 'engine'>, options: PostgresOptions): Postgres {
    return Postgres.open(urls, options);
  }

  /** The same for an isolated tool process: all pools use its login, and see what the calls that it has claimed need. */
  static connectToolProcess(url: string, options: PostgresOptions): Postgres {
    // Random, so that no other tool process can act for this one: see the migration of tool processes.
    const owner = `${processName()}#${randomUUID()}`;
    return Postgres.open({ api: url, engine: url }, options, owner);
  }

  private static open(urls: Pick<DatabaseUrls, 'api' | 'engine'>, options: PostgresOptions, owner?: string): Postgres {
    const common = { ...options, ...(owner === undefined ? {} : { session: toolSession(owner) }) };
    return new Postgres(
      createPool({ ...common, url: urls.api, name: 'api', statementMs: 30_000 }),
      createPool({ ...common, url: urls.engine, name: 'engine', statementMs: 30_000 }),
      createPool({ ...common, url: urls.engine, name: 'reserved', statementMs: 5_000, poolSize: 1 }),
      owner !== undefined,
    );
  }

  /**
   * Runs `run` in one transaction that sees the rows of `workspaceId` and no others (row-level security). Commits when
   * it resolves, rolls back when it rejects. The setting is the transaction's own, so a pooled connection carries nothing on.
   * Throws `unavailable` (retryable) when the database is away or the pool stays exhausted for 5 s.
   */
  async withWorkspaceSql<T>(workspaceId: string, run: (client: pg.PoolClient) => Promise<T>): Promise<T> {
    const client = await this.connectToApi();
    let broken = false;
    try {
      // The first statements of `run` travel with the opening, in this order. Should one fail, so do all after it.
      const [, done] = await Promise.all(
        inOneWrite(client, () => [client.query(opening(client, workspaceId)), run(client)] as const),
      );
      await client.query('COMMIT');
      return done;
    } catch (error) {
      // A connection that cannot even roll back is thrown away, never handed to the next caller.
      await client.query('ROLLBACK').catch(() => (broken = true));
      throw asAvailabilityError(error);
    } finally {
      client.release(broken);
    }
  }

  /**
   * One reading statement in a transaction that sees the rows of `workspaceId` and no others. Opening, statement and end
   * are one message each and one write together: in the hot path this is much cheaper than `withWorkspaceSql`.
   */
  async readInWorkspace<Row extends pg.QueryResultRow>(workspaceId: string, statement: pg.QueryConfig): Promise<Row[]> {
    const [rows = []] = await this.allInWorkspace<Row>(workspaceId, () => [statement]);
    return rows;
  }

  /**
   * The same for statements that need not know each other's answers: the database is asked once, and has committed when it answers.
   * Each sees what was committed until it began, so one may take the locks that the next relies upon. `prepare` runs right before they
   * leave. Gives the rows of each. Throws `unavailable` as `withWorkspaceSql` does.
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

  /** The same as the engine's login, which sees the rows of every workspace. */
  async allAsEngine<Row extends pg.QueryResultRow>(statements: readonly pg.QueryConfig[]): Promise<Row[][]> {
    const client = await this.engine.connect().catch((error: unknown) => {
      throw asAvailabilityError(error);
    });
    return allInOneWrite<Row>(client, 'BEGIN', statements);
  }

  private async connectToApi(): Promise<pg.PoolClient> {
    return this.api.connect().catch((error: unknown) => {
      throw asAvailabilityError(error);
    });
  }

  /** Waits for checked-out connections, then ends all. May be called again. */
  close(): Promise<void> {
    this.closing ??= Promise.all([this.api.end(), this.engine.end(), this.reserved.end()]).then(() => undefined);
    return this.closing;
  }
}

/** One transaction in one write: `begin`, the statements, the end. Gives the rows of each statement and releases the client. */
async function allInOneWrite<Row extends pg.QueryResultRow>(
  client: pg.PoolClient,
  begin: string,
  statements: readonly pg.QueryConfig[],
): Promise<Row[][]> {
  const [answers, [opened, ended]] = await Promise.all(
    inOneWrite(client, () => {
      const begun = client.query(begin);
      const asked = statements.map((statement) => client.query<Row>(statement));
      // After a failure it is a rollback.
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

/** The first statement of each connection of a tool process. Its views hide tables of the same name. */
function toolSession(owner: string): string {
  return `SELECT set_config('search_path', 'tool_process, public', false),
    set_config('app.tool_process', ${pg.escapeLiteral(owner)}, false)`;
}

/** Statements that are asked for synchronously within `ask` leave in one write: a system call each would cost more than they do. */
function inOneWrite<T>(client: pg.PoolClient, ask: () => T): T {
  const { stream } = (client as unknown as { connection: { stream: Duplex } }).connection; // every client of the driver has it
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
  /** Runs before anything else on each new connection. */
  readonly session?: string;
}

function createPool(init: PoolInit): pg.Pool {
  const pool = new pg.Pool({
    ...connectionLimits(init.statementMs),
    connectionString: init.url,
    options: '-c TimeZone=UTC', // Prisma writes instants in UTC without saying so
    application_name: `${init.applicationName ?? 'nightshift'}:${init.name}`,
    max: init.poolSize,
    // Statements of one connection are sent without waiting for each other's answers; the server keeps their order.
    pipeline: true,
    idleTimeoutMillis: 30_000,
  });
  // Without a listener an idle connection that breaks would end the process. `end` resolves before the server has heard of it:
  // one that is stopped then may break what was about to close.
  pool.on('error', (error) => {
    if (!pool.ending) init.onIdleError?.(error);
  });
  // The pool listens only while a connection is idle. One that breaks between two statements of a transaction must not
  // end the process either; its next statement rejects.
  pool.on('connect', (client) => client.on('error', () => undefined));
  const { session } = init;
  // Without it every later statement lacks its privileges, so a failure needs no handling here.
  if (session !== undefined) pool.on('connect', (client) => void client.query(session).catch(() => undefined));
  return pool;
}

/** Bounds of every connection; the driver has none of its own. */
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
