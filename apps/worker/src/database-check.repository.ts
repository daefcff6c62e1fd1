import type { PrismaService } from '#platform';

/** Sends Postgres an empty statement, to learn whether it responds. */
export class DatabaseCheckRepository {
  constructor(private readonly prisma: PrismaService) {}

  async answers(): Promise<boolean> {
    try {
      await this.prisma.asWorker((client) => client.$queryRaw`SELECT 1`);
      return true;
    } catch {
      return false;
    }
  }
}
