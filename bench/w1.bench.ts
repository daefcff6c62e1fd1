import { type Aim, atLeast, atMost, type Bench, type BenchMode, type BenchReport, type Row } from './bench.js';
import { GraphqlClient } from './clients/graphql-client.js';
import { measureLimits } from './limits/measure-limits.js';
import { costColumns, type JobCosts, measureCosts } from './measure/job-costs.js';
import { load } from './measure/load.js';
import { rounded } from './measure/statistics.js';
import { BenchPostgres } from './stack/bench-postgres.js';
import { CHUNK_TEXT, startModel } from './stack/model-process.js';
import { type Nightshift, startNightshift } from './stack/nightshift.js';

const CHUNKS = 200;
const WIDTHS = [1, 20, 100];

/** Throughput and price of a job: everything there is between a mutation and the last event its viewer sees. */
export const w1: Bench = {
  name: 'w1',
  about: 'message, tool call, 200-chunk answer, through GraphQL, a worker process and a viewer per job',
  run: async (mode: BenchMode): Promise<BenchReport> => {
    await using cleanUp = new AsyncDisposableStack();
    const postgres = await BenchPostgres.start();
    cleanUp.defer(() => postgres.close());
    const model = await startModel({ chunks: CHUNKS, delayMs: 0 });
    cleanUp.defer(() => model.close());
    const modelUrl = model.hello.url;
    const limits = await measureLimits(mode, { postgres, modelUrl, widths: WIDTHS });
    const nightshift = await startNightshift(postgres, { modelUrl, roles: ['api', 'worker'] });
    cleanUp.defer(() => nightshift.close());
    const client = new GraphqlClient(nightshift, CHUNKS * CHUNK_TEXT.length);
    cleanUp.defer(() => client.close());
    const rows: Row[] = [...limits.rows];
    const costs = new Map<number, JobCosts>();
    for (const width of WIDTHS) {
      const measured = await measure(mode, { postgres, nightshift, client, width });
      costs.set(width, measured);
      rows.push({ what: 'w1', inFlight: width, ...costColumns(measured, ['api', 'worker']) });
    }
    return { rows, aims: aimsOf(costs, limits.bareRate) };
  },
};

interface Measured {
  readonly postgres: BenchPostgres;
  readonly nightshift: Nightshift;
  readonly client: GraphqlClient;
  readonly width: number;
}

async function measure(mode: BenchMode, { postgres, nightshift, client, width }: Measured): Promise<JobCosts> {
  mode.say(`w1, ${width} in flight`);
  await load(client, { width, runs: 1, secondsEach: mode.quick ? 1 : 3 });
  await postgres.settle();
  await load(client, { width, runs: 1, secondsEach: 0.5 });
  const pids = nightshift.processes.map(({ pid }) => pid);
  const shape = { width, runs: mode.quick ? 1 : 4, secondsEach: mode.quick ? 1 : 2 };
  return measureCosts(client, shape, { postgres, pids, ...(mode.profile ? { explain: mode.say } : {}) });
}

function aimsOf(costs: ReadonlyMap<number, JobCosts>, bareRate: ReadonlyMap<number, number>): Aim[] {
  const one = costs.get(1);
  const many = costs.get(100);
  if (one === undefined || many === undefined) return [];
  const { jobs, jobsPerSecond } = many.result;
  const cpuMs = many.cpuMs.reduce((sum, ms) => sum + ms, 0) / jobs;
  return [
    atLeast('jobs/s at 100 in flight, as a share of L0', rounded(jobsPerSecond / (bareRate.get(100) ?? 0)), [0.2, '']),
    atMost('CPU of api and worker per job at 100 in flight', rounded(cpuMs), [1, 'ms']),
    atMost('write transactions per job at 1 in flight', rounded(one.wal.writeTransactions / one.result.jobs), [3, '']),
    atMost('write transactions per job at 100 in flight', rounded(many.wal.writeTransactions / jobs), [1, '']),
    atMost('WAL per job at 100 in flight', rounded(many.wal.walBytes / 1_024 / jobs), [6, 'KB']),
  ];
}
