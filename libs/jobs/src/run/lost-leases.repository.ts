import { Injectable } from '@nestjs/common';

import { Postgres } from '#platform';

/** Locks rows in the order that every writer of many jobs uses. */
const endSql = `WITH lost AS (
  SELECT workspace_id, id FROM job WHERE status = 'running' AND lease_owner = ANY($1) AND lease_until > clock_timestamp()
   ORDER BY workspace_id, id FOR NO KEY UPDATE)
UPDATE job j SET lease_until = clock_timestamp() - interval '1 ms' FROM lost l WHERE j.workspace_id = l.workspace_id AND j.id = l.id
RETURNING j.id`;

/** Leases of dead processes, as the engine's role. */
@Injectable()
export class LostLeasesRepository {
  constructor(private readonly postgres: Postgres) {}

  /** The owners of leases that have not expired, each once. */
  async findHolders(): Promise<readonly string[]> {
    const { rows } = await this.postgres.engine.query<{ owner: string }>({
      name: 'lease-holders',
      text: `SELECT DISTINCT lease_owner AS owner FROM job
              WHERE status = 'running' AND lease_owner IS NOT NULL AND lease_until > clock_timestamp()`,
    });
    return rows.map(({ owner }) => owner);
  }

  /** Expires the leases of these owners now and returns how many. The epoch is raised by the next claim. */
  async end(holders: readonly string[]): Promise<number> {
    const { rowCount } = await this.postgres.engine.query({ name: 'end-leases', text: endSql, values: [holders] });
    return rowCount ?? 0;
  }
}
