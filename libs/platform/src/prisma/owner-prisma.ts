import { PrismaPg } from '@prisma/adapter-pg';

import { PrismaClient } from './generated/prisma/client.js';

/**
 * Prisma over one connection of the migrating login, acting as `nightshift_owner`, which sees the rows of every workspace: for commands of
 * the operator. No serving process has one. The caller disconnects it.
 */
export function openOwnerPrisma(ownerUrl: string): PrismaClient {
  return new PrismaClient({
    adapter: new PrismaPg({
      connectionString: ownerUrl,
      application_name: 'nightshift:admin',
      options: '-c role=nightshift_owner -c TimeZone=UTC',
      max: 1,
      connectionTimeoutMillis: 10_000,
      statement_timeout: 60_000,
    }),
  });
}
