import type { Postgres } from '#platform';

/** Asks Postgres for nothing, to see whether it answers. */
export class DatabaseCheckRepository {
  constructor(private readonly postgres: Postgres) {}

  async answers(): Promise<boolean> {
    try {
      await this.postgres.engine.query('SELECT 1');
      return true;
    } catch {
      return false;
    }
  }
}
