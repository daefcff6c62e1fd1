import { PrismaPg } from '@prisma/adapter-pg';

import { asAvailabilityError } from '../postgres/availability.js';
import type { Postgres } from '../postgres/postgres.js';
import { type Prisma, PrismaClient } from './generated/prisma/client.js';

/** What runs inside `withWorkspace`: Prisma's client bound to that transaction. */
export type PrismaTransaction = Prisma.TransactionClient;

/** Prisma on the api login, over the pool of `Postgres.api`. */
export class PrismaService {
  /** For start-up checks; tenant rows are invisible outside `withWorkspace`. */
  readonly client: PrismaClient;

  constructor(postgres: Pick<Postgres, 'api'>) {
    this.client = new PrismaClient({
      adapter: new PrismaPg(postgres.api),
      transactionOptions: { maxWait: 5_000, timeout: 10_000 },
    });
  }

  /**
   * Runs `run` in one transaction that sees the rows of `scope.workspaceId` and no others (row-level security). Commits
   * when it resolves, rolls back when it rejects or takes longer than 10 s. No model, tool or HTTP call belongs inside.
   * Throws `unavailable` (retryable) when the database is away or the pool stays exhausted for 5 s.
   */
  async withWorkspace<T>(
    scope: { readonly workspaceId: string },
    run: (tx: PrismaTransaction) => Promise<T>,
  ): Promise<T> {
    try {
      return await this.client.$transaction(async (tx) => {
        await tx.$queryRaw`select set_config('app.workspace', ${scope.workspaceId}, true)`;
        return run(tx);
      });
    } catch (error) {
      throw asAvailabilityError(error);
    }
  }

  /** Leaves the pool open: it belongs to `Postgres`. */
  async close(): Promise<void> {
    await this.client.$disconnect();
  }
}
