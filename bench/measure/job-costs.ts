import type { Row } from '../bench.js';
import type { BenchPostgres } from '../stack/bench-postgres.js';
import { type JobClient, load, type LoadResult, type LoadShape } from './load.js';
import { cpuOf, cpuOfFamily } from './process-cpu.js';
import { StatementProfile } from './statement-profile.js';
import { percentile, rounded } from './statistics.js';
import { type WalCosts, WalMeter } from './wal-meter.js';

/** What is watched while jobs run. */
export interface Observed {
  readonly postgres: BenchPostgres;
  /** Processes whose CPU is Nightshift's: api and worker. */
  readonly pids: readonly number[];
  /** Given: prints where the database's time went. */
  readonly explain?: (text: string) => void;
}

/** A load and its price. CPU in ms. */
export interface JobCosts {
  readonly result: LoadResult;
  readonly cpuMs: readonly number[];
  readonly postgresMs: number;
  readonly wal: WalCosts;
}

/** Runs the load and counts what it cost; figures of processes come from the scheduler, those of the log from the log. */
export async function measureCosts(client: JobClient, shape: LoadShape, observed: Observed): Promise<JobCosts> {
  const { postgres, pids } = observed;
  const statements = await StatementProfile.start(postgres.admin);
  const wal = await WalMeter.start(postgres.admin);
  const postgresBefore = cpuOfFamily(postgres.pid);
  const before = pids.map(cpuOf);
  const result = await load(client, shape);
  const cpuMs = pids.map((pid, i) => cpuOf(pid) - (before[i] ?? 0));
  const postgresMs = cpuOfFamily(postgres.pid) - postgresBefore;
  const costs = await wal.stop();
  if (observed.explain !== undefined && costs.writeTransactions > 0) {
    observed.explain([await statements.toText(result.jobs), await wal.toText(result.jobs)].join('\n'));
  }
  return { result, cpuMs, postgresMs, wal: costs };
}

/** One row of a table, everything per job. `names` are those of the observed processes. */
export function costColumns({ result, cpuMs, postgresMs, wal }: JobCosts, names: readonly string[]): Row {
  const { jobs } = result;
  const perProcess = names.map((name, i) => [`${name}CpuMs`, rounded((cpuMs[i] ?? 0) / jobs)] as const);
  return {
    jobsPerSecond: rounded(result.jobsPerSecond),
    best: rounded(result.bestPerSecond),
    p50Ms: rounded(totalPercentile(result, 50)),
    p99Ms: rounded(totalPercentile(result, 99)),
    cpuMs: rounded(cpuMs.reduce((sum, ms) => sum + ms, 0) / jobs),
    ...Object.fromEntries(perProcess),
    postgresCpuMs: rounded(postgresMs / jobs),
    writeTx: rounded(wal.writeTransactions / jobs),
    notifyTx: rounded(wal.notifyTransactions / jobs),
    xids: rounded(wal.transactionNumbers / jobs),
    flushes: rounded(wal.flushes / jobs),
    walKb: rounded(wal.walBytes / 1_024 / jobs),
  };
}

/** Percentile of the jobs' whole times, ms. */
export function totalPercentile({ times }: LoadResult, percent: number): number {
  return percentile(
    times.map(({ totalMs }) => totalMs),
    percent,
  );
}
