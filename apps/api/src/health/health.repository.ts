import { Injectable } from '@nestjs/common';

import { Postgres } from '#platform';

/** Asks the database how it is. */
@Injectable()
export class HealthRepository {
  constructor(private readonly postgres: Postgres) {}

  /** Resolves when both logins can be used and the tables of this build are there; rejects otherwise. */
  async assertUsable(): Promise<void> {
    await Promise.all([
      this.postgres.api.query('SELECT id, format FROM job WHERE false'),
      this.postgres.engine.query('SELECT id, lease_epoch FROM job WHERE false'),
    ]);
  }
}
