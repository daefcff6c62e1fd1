import type pg from 'pg';

/** Which statements the time and the log went to, for people: the dearest first. */
export class StatementProfile {
  private constructor(private readonly admin: pg.Client) {}

  static async start(admin: pg.Client): Promise<StatementProfile> {
    await admin.query('SELECT pg_stat_statements_reset()');
    return new StatementProfile(admin);
  }

  /** One line per statement; figures are per job. */
  async toText(jobs: number): Promise<string> {
    const { rows } = await this.admin.query<StatementRow>(
      `SELECT regexp_replace(left(query, 400), '\\s+', ' ', 'g') AS query, calls::float8, plans::float8, total_exec_time AS ms, total_plan_time AS plan, rows::float8,
              wal_bytes::float8 AS wal, wal_records::float8 AS records
         FROM pg_stat_statements WHERE calls > 3 ORDER BY total_exec_time + total_plan_time DESC LIMIT 16`,
    );
    const lines = rows.map(({ query, calls, plans, ms, plan, wal, records }) => {
      const figures = [calls, plans, ms, plan, wal, records].map((figure) => (figure / jobs).toFixed(3).padStart(9));
      return `${figures.join(' ')}  ${query.slice(0, 90)}`;
    });
    return ['    calls     plans        ms   plan ms WAL bytes   records  statement', ...lines].join('\n');
  }
}

interface StatementRow {
  readonly query: string;
  readonly calls: number;
  readonly plans: number;
  readonly ms: number;
  readonly plan: number;
  readonly wal: number;
  readonly records: number;
}
