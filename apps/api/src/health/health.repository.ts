import { Injectable } from '@nestjs/common';

import { PrismaService } from '#platform';

/** Checks the database for the readiness report. */
@Injectable()
export class HealthRepository {
  constructor(private readonly prisma: PrismaService) {}

  /** Resolves when both logins can be used and the tables of this build are there; rejects otherwise. */
  async assertUsable(): Promise<void> {
    await Promise.all([
      this.prisma.outsideWorkspaces((client) => client.$queryRaw`SELECT id, format FROM job WHERE false`),
      this.prisma.asWorker((client) => client.$queryRaw`SELECT id, lease_epoch FROM job WHERE false`),
    ]);
  }
}
