import { PrismaPg } from '@prisma/adapter-pg';

import { PrismaClient } from './generated/prisma/client.js';
import type { PrismaTransaction } from './prisma.service.js';

/**
 * Prisma over one connection of the migrating login with the role `nightshift_owner`, which sees the rows of every workspace: for commands of
 * the operator. Serving processes never open one. The caller disconnects it.
 */
export function openOwnerPrisma(ownerUrl: string): PrismaClient {
  return openAdminPrisma(ownerUrl, '-c role=nightshift_owner -c TimeZone=UTC');
}

/** The same with the migrating login itself, for queries before the roles exist. */
export function openLoginPrisma(ownerUrl: string): PrismaClient {
  return openAdminPrisma(ownerUrl, '-c TimeZone=UTC');
}

/**
 * Runs `work` in one transaction of `nightshift_owner`, without a statement timeout and for up to an hour, because a large installation has
 * millions of rows.
 */
export async function inOwnerTransaction(
  ownerUrl: string,
  work: (tx: PrismaTransaction) => Promise<void>,
): Promise<void> {
  const owner = openOwnerPrisma(ownerUrl);
  try {
    await owner.$transaction(
      async (tx) => {
        await tx.$executeRaw`SET LOCAL statement_timeout = 0`;
        await work(tx);
      },
      { timeout: 3_600_000, maxWait: 15_000 },
    );
  } finally {
    await owner.$disconnect();
  }
}

function openAdminPrisma(connectionString: string, options: string): PrismaClient {
  const limits = { max: 1, connectionTimeoutMillis: 10_000, statement_timeout: 60_000 };
  return new PrismaClient({
    adapter: new PrismaPg({ connectionString, application_name: 'nightshift:admin', options, ...limits }),
  });
}
