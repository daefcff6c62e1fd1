import { PrismaPg } from '@prisma/adapter-pg';

import { asAvailabilityError } from '../postgres/availability.js';
import { CallNotClaimed } from '../postgres/postgres.errors.js';
import type { Postgres } from '../postgres/postgres.js';
import { Prisma, PrismaClient } from './generated/prisma/client.js';

const maxTexts = 1_000;

/**
 * Names for the prepared statements of one pool: a connection parses a named text once. A text gets a name at its second use, because
 * texts with lists of variable length seldom recur. At most 1,000 texts get one, because each name uses memory in every connection.
 */
export function statementNames(max = maxTexts): (query: { readonly sql: string }) => string {
  const names = new Map<string, string>();
  const usedOnce = new Set<string>();
  return ({ sql }) => {
    const known = names.get(sql);
    if (known !== undefined) return known;
    if (!usedOnce.delete(sql) || names.size >= max) {
      if (usedOnce.size >= max) usedOnce.clear();
      usedOnce.add(sql);
      return ''; // no name
    }
    const name = `prisma-${names.size + 1}`;
    names.set(sql, name);
    return name;
  };
}

/** A client bound to one transaction; inside `withWorkspace` it sees the rows of that workspace. */
export type PrismaTransaction = Prisma.TransactionClient;

/** Prisma with the logins `nightshift_api` and `nightshift_engine`, one client for each, over the pools of `Postgres`. */
export class PrismaService {
  private apiLogin: PrismaClient | undefined;
  private workerLogin: PrismaClient | undefined;
  /** By pool, not by client: after `close` the connections of the pools still know the names. */
  private readonly names = { api: statementNames(), worker: statementNames() };

  constructor(private readonly postgres: Pick<Postgres, 'api' | 'workerPool' | 'isToolProcess'>) {}

  /** Login `nightshift_api`. Tenant rows are invisible outside `withWorkspace`. Made at its first use, which takes some 50 ms. */
  get client(): PrismaClient {
    return (this.apiLogin ??= clientOver(this.postgres.api, this.names.api));
  }

  /** The client of the login `nightshift_engine`. */
  private get workerClient(): PrismaClient {
    return (this.workerLogin ??= clientOver(this.postgres.workerPool, this.names.worker));
  }

  /** Also loads Prisma's query compiler for both logins (some 100 ms), so that no request waits for it. Opens no connection. */
  static async open(postgres: Pick<Postgres, 'api' | 'workerPool' | 'isToolProcess'>): Promise<PrismaService> {
    const service = new PrismaService(postgres);
    await Promise.all([service.client.$connect(), service.workerClient.$connect()]);
    return service;
  }

  /**
   * Runs `run` in one transaction that sees only the rows of `scope.workspaceId` (row-level security). Commits if it resolves, and rolls back
   * if it rejects or takes longer than 30 s. Make no model, tool or HTTP call inside. Throws `unavailable` (retryable) if the database is
   * down or the pool stays exhausted for 5 s. A tool process sees the workspace only while it has a claimed call in it; otherwise it also
   * throws `unavailable`, because missing rows must not look like a missing policy.
   */
  async withWorkspace<T>(
    scope: { readonly workspaceId: string },
    run: (tx: PrismaTransaction) => Promise<T>,
  ): Promise<T> {
    try {
      return await this.client.$transaction(async (tx) => {
        await tx.$queryRaw(setWorkspace(scope));
        if (!this.postgres.isToolProcess) return run(tx);
        const before = await tx.$queryRaw<Claim[]>(claimsIn(scope));
        const result = await run(tx);
        assertClaimed(before, await tx.$queryRaw<Claim[]>(claimsIn(scope)));
        return result;
      });
    } catch (error) {
      throw asAvailabilityError(error);
    }
  }

  /**
   * Runs one raw statement in a transaction like `withWorkspace`, for half its cost: Prisma sends a list of raw statements without running
   * code of the caller in between. Throws `unavailable` like `withWorkspace`.
   */
  async queryInWorkspace<Row>(scope: { readonly workspaceId: string }, statement: Prisma.Sql): Promise<Row[]> {
    if (this.postgres.isToolProcess) return this.withWorkspace(scope, (tx) => tx.$queryRaw<Row[]>(statement));
    const { client } = this;
    const statements = [client.$queryRaw(setWorkspace(scope)), client.$queryRaw<Row[]>(statement)] as const;
    const [, rows] = await answered(client.$transaction([...statements]));
    return rows;
  }

  /**
   * Runs `run` with the client of the api login outside of any workspace, for queries before the workspace is known, such as the identity
   * functions. Throws `unavailable` like `withWorkspace`.
   */
  outsideWorkspaces<T>(run: (client: PrismaClient) => Promise<T>): Promise<T> {
    return answered(run(this.client));
  }

  /**
   * Runs `run` with the client of the workers' login, which sees the rows of every workspace in the tables that it may read. Each statement is
   * its own transaction, unless `run` opens one. Throws `unavailable` like `withWorkspace`.
   */
  asWorker<T>(run: (client: PrismaClient) => Promise<T>): Promise<T> {
    return answered(run(this.workerClient));
  }

  /** Leaves the pools open: they belong to `Postgres`. A later use makes new clients. */
  async close(): Promise<void> {
    const clients = [this.apiLogin, this.workerLogin].filter((client) => client !== undefined);
    this.apiLogin = this.workerLogin = undefined; // each uses 8 MB
    await Promise.all(clients.map((client) => client.$disconnect()));
  }
}

function setWorkspace({ workspaceId }: { readonly workspaceId: string }): Prisma.Sql {
  return Prisma.sql`select set_config('app.workspace', ${workspaceId}, true)`;
}

/** The id of a call that this tool process has claimed. */
interface Claim {
  readonly id: string;
}

function claimsIn({ workspaceId }: { readonly workspaceId: string }): Prisma.Sql {
  return Prisma.sql`select id from tool_process.claimed_call where workspace_id = ${workspaceId}::uuid`;
}

/** Throws unless one call was claimed both before and after the statement: that call was then claimed during the statement. */
function assertClaimed(before: readonly Claim[], after: readonly Claim[]): void {
  const ids = new Set(after.map(({ id }) => id));
  if (!before.some(({ id }) => ids.has(id))) throw new CallNotClaimed();
}

function clientOver(
  pool: Postgres['api'],
  statementNameGenerator: (query: { readonly sql: string }) => string,
): PrismaClient {
  return new PrismaClient({
    adapter: new PrismaPg(pool, { statementNameGenerator }),
    errorFormat: 'minimal', // the others record a stack for each query, and put source lines into messages
    transactionOptions: { maxWait: 5_000, timeout: 30_000 },
  });
}

async function answered<T>(result: Promise<T>): Promise<T> {
  try {
    return await result;
  } catch (error) {
    throw asAvailabilityError(error);
  }
}
