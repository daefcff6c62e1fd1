import type pg from 'pg';

/** What a stretch of time cost the database, in whole numbers. */
export interface WalCosts {
  /** Committed transactions that changed something: each waited for its commit record to be flushed. */
  readonly writeTransactions: number;
  /** Committed transactions that hold a number and nothing else: NOTIFY. They wait for no flush. */
  readonly notifyTransactions: number;
  /** Transaction numbers used, by the difference of the snapshots' `xmax`: a check on the two above. */
  readonly transactionNumbers: number;
  /** Flushes of the log by anybody; below `writeTransactions` when several commits share one. */
  readonly flushes: number;
  readonly walBytes: number;
}

const nothing: WalCosts = {
  writeTransactions: 0,
  notifyTransactions: 0,
  transactionNumbers: 0,
  flushes: 0,
  walBytes: 0,
};

interface Mark {
  readonly lsn: string;
  readonly xmax: string;
  readonly flushes: string;
}

const markSql = `SELECT pg_current_wal_insert_lsn()::text AS lsn, pg_snapshot_xmax(pg_current_snapshot())::text AS xmax,
  (SELECT coalesce(sum(fsyncs), 0)::text FROM pg_stat_io WHERE object = 'wal') AS flushes`;

/**
 * A transaction has a number only if it writes or notifies. One that has a commit record and at least one record of another
 * kind (a heap, an index) changed something; subtransactions, aborts and read-only transactions are not counted.
 */
const transactionsSql = `SELECT count(*) FILTER (WHERE changes)::int AS writes, count(*) FILTER (WHERE NOT changes)::int AS notifies
  FROM (SELECT xid, bool_or(resource_manager <> 'Transaction') AS changes,
               bool_or(resource_manager = 'Transaction' AND record_type LIKE 'COMMIT%') AS committed
          FROM pg_get_wal_records_info($1::pg_lsn, $2::pg_lsn) WHERE xid::text <> '0' GROUP BY xid) AS t WHERE committed`;

/** `images`: bytes of full pages, which the first change after a checkpoint writes. */
const relationsSql = `SELECT coalesce(c.relname, 'other') AS relation, count(*)::float8 AS records,
       sum(b.record_length)::float8 AS bytes, sum(b.block_fpi_length)::float8 AS images
  FROM pg_get_wal_block_info($1::pg_lsn, pg_current_wal_flush_lsn()) b
  LEFT JOIN pg_class c ON pg_relation_filenode(c.oid) = b.relfilenode
 GROUP BY 1 ORDER BY 3 DESC LIMIT 24`;

interface RelationCost {
  readonly relation: string;
  readonly records: number;
  readonly bytes: number;
  readonly images: number;
}

/** Reads the write-ahead log itself (pg_walinspect), so that the count is exact and needs no help of what is measured. */
export class WalMeter {
  private constructor(
    private readonly admin: pg.Client,
    private readonly from: Mark,
  ) {}

  static async start(admin: pg.Client): Promise<WalMeter> {
    return new WalMeter(admin, await mark(admin));
  }

  async stop(): Promise<WalCosts> {
    const to = await mark(this.admin);
    const bytes = await this.admin.query<{ bytes: number }>('SELECT pg_wal_lsn_diff($1, $2)::float8 AS bytes', [
      to.lsn,
      this.from.lsn,
    ]);
    if (bytes.rows[0]?.bytes === 0) return nothing;
    await this.flushed(to.lsn);
    const counts = await this.admin.query<{ writes: number; notifies: number }>(transactionsSql, [
      this.from.lsn,
      to.lsn,
    ]);
    return {
      writeTransactions: counts.rows[0]?.writes ?? 0,
      notifyTransactions: counts.rows[0]?.notifies ?? 0,
      transactionNumbers: Number(BigInt(to.xmax) - BigInt(this.from.xmax)),
      flushes: Number(to.flushes) - Number(this.from.flushes),
      walBytes: bytes.rows[0]?.bytes ?? 0,
    };
  }

  /** Which tables and indexes the log was written for, the dearest first; bytes are per job. For people. */
  async toText(jobs: number): Promise<string> {
    const { rows } = await this.admin.query<RelationCost>(relationsSql, [this.from.lsn]);
    const lines = rows.map(({ relation, records, bytes, images }) => {
      const figures = [records, bytes, images].map((figure) => (figure / jobs).toFixed(1).padStart(8));
      return `${figures.join(' ')}  ${relation}`;
    });
    return [' records    bytes   images  relation', ...lines].join('\n');
  }

  /** The reader sees only what is on disk; commits that wait for no flush get there within a second. */
  private async flushed(lsn: string): Promise<void> {
    for (let tries = 0; tries < 30; tries++) {
      const { rows } = await this.admin.query<{ done: boolean }>(
        'SELECT pg_current_wal_flush_lsn() >= $1::pg_lsn AS done FROM pg_sleep(0.05)',
        [lsn],
      );
      if (rows[0]?.done === true) return;
    }
  }
}

async function mark(admin: pg.Client): Promise<Mark> {
  const { rows } = await admin.query<Mark>(markSql);
  if (rows[0] === undefined) throw new Error('the server has no counters');
  return rows[0];
}
