import pg from 'pg';

import { resealColumn, type Resealed, type SealedColumn, type SecretBox } from '#platform';

/** What the operator asks of the database as a whole, over the migrating login. */
export class InstallationRepository {
  private constructor(private readonly client: pg.Client) {}

  static async connect(ownerUrl: string): Promise<InstallationRepository> {
    const client = new pg.Client({ connectionString: ownerUrl, connectionTimeoutMillis: 10_000 });
    client.on('error', () => undefined); // a lost connection also rejects the query that is under way
    await client.connect();
    return new InstallationRepository(client);
  }

  /** Whether the serving roles were given a login before: so the database belongs to an installation. */
  async isSetUp(): Promise<boolean> {
    const sql = "SELECT 1 FROM pg_roles WHERE rolname = 'nightshift_api' AND rolcanlogin";
    const { rowCount } = await this.client.query(sql);
    return rowCount === 1;
  }

  /** How many connections of serving processes there are. */
  async servingConnections(): Promise<number> {
    const { rows } = await this.client.query<{ count: number }>(
      `SELECT count(*)::int AS count FROM pg_stat_activity
        WHERE usename IN ('nightshift_api', 'nightshift_engine', 'nightshift_tools') AND datname = current_database()`,
    );
    return rows[0]?.count ?? 0;
  }

  /** Seals every value of these columns with the present secret. */
  async reseal(columns: readonly (readonly [SealedColumn, SecretBox])[]): Promise<Resealed[]> {
    await this.client.query('SET ROLE nightshift_owner');
    const done: Resealed[] = [];
    for (const [column, box] of columns) done.push(await resealColumn(this.client, box, column));
    return done;
  }

  close(): Promise<void> {
    return this.client.end();
  }
}
