import type { BenchMode, Row } from '../bench.js';
import { costColumns, measureCosts } from '../measure/job-costs.js';
import { type JobClient, load } from '../measure/load.js';
import type { BenchPostgres } from '../stack/bench-postgres.js';
import { BareLoop } from './bare-loop.js';
import { GroupCommittedStore } from './group-committed-store.js';

/** What a bench of jobs is measured against. */
export interface Limits {
  readonly rows: readonly Row[];
  /** Jobs a second of the bare loop, by jobs in flight. */
  readonly bareRate: ReadonlyMap<number, number>;
}

/**
 * L0: the tool loop with the real model client, nothing stored. L1: the same, and three group-committed writes a job. Both
 * run in the bench's own process against the same model process as everything else in the run.
 */
export async function measureLimits(
  { quick, say }: BenchMode,
  { postgres, modelUrl, widths }: { postgres: BenchPostgres; modelUrl: string; widths: readonly number[] },
): Promise<Limits> {
  await using cleanUp = new AsyncDisposableStack();
  const store = await GroupCommittedStore.open(postgres.urls.owner);
  cleanUp.defer(() => store.close());
  const bare = new BareLoop(modelUrl, null);
  cleanUp.defer(() => bare.close());
  const stored = new BareLoop(modelUrl, store);
  cleanUp.defer(() => stored.close());
  const clients: readonly (readonly [string, JobClient])[] = [
    ['L0', bare],
    ['L1', stored],
  ];
  const rows: Row[] = [];
  const bareRate = new Map<number, number>();
  for (const [what, client] of clients) {
    for (const width of widths) {
      say(`${what}, ${width} in flight`);
      await load(client, { width, runs: 1, secondsEach: quick ? 0.2 : 1 });
      const shape = { width, runs: quick ? 1 : 3, secondsEach: quick ? 0.5 : 1 };
      const costs = await measureCosts(client, shape, { postgres, pids: [process.pid] });
      if (client === bare) bareRate.set(width, costs.result.jobsPerSecond);
      rows.push({ what, inFlight: width, ...costColumns(costs, []) });
    }
  }
  return { rows, bareRate };
}
