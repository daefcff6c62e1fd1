import { Injectable } from '@nestjs/common';

import { PrismaService } from '#platform';

/** Leases of dead processes, as the workers' role. */
@Injectable()
export class LostLeasesRepository {
  constructor(private readonly prisma: PrismaService) {}

  /** The owners of leases that have not expired, each once. */
  async findHolders(): Promise<readonly string[]> {
    const rows = await this.prisma.asWorker(
      (client) => client.$queryRaw<{ owner: string }[]>`
        SELECT DISTINCT lease_owner AS owner FROM job
         WHERE status = 'running' AND lease_owner IS NOT NULL AND lease_until > clock_timestamp()`,
    );
    return rows.map(({ owner }) => owner);
  }

  /** Expires the leases of these owners now and returns how many. The epoch is raised by the next claim. */
  end(holders: readonly string[]): Promise<number> {
    return this.prisma.asWorker(
      // Locks rows in the order that every writer of many jobs uses.
      (client) => client.$executeRaw`
        WITH lost AS (
          SELECT workspace_id, id FROM job
           WHERE status = 'running' AND lease_owner = ANY(${[...holders]}::text[]) AND lease_until > clock_timestamp()
           ORDER BY workspace_id, id FOR NO KEY UPDATE)
        UPDATE job j SET lease_until = clock_timestamp() - interval '1 ms' FROM lost l
         WHERE j.workspace_id = l.workspace_id AND j.id = l.id`,
    );
  }
}
