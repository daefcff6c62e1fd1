import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { type Aim, atMost, type Bench, type BenchMode, type BenchReport, type Row } from './bench.js';
import { GraphqlClient } from './clients/graphql-client.js';
import { BareLoop } from './limits/bare-loop.js';
import { totalPercentile } from './measure/job-costs.js';
import { type JobClient, load, type LoadResult } from './measure/load.js';
import { cpuOf, cpuOfFamily, rssOf } from './measure/process-cpu.js';
import { percentile, rounded } from './measure/statistics.js';
import { BenchPostgres } from './stack/bench-postgres.js';
import { CHUNK_TEXT, startModel } from './stack/model-process.js';
import { type Nightshift, startNightshift } from './stack/nightshift.js';
import { measureStartDelays, startDelayAim } from './start-delay.js';

const CHUNKS = 50;
const DELAY_MS = 10;
const WIDTHS = [1, 20, 100];

/** As in production, and as `npm start` runs. The aims are about the first. */
const SHAPES = [
  { shape: 'two processes', roles: ['api', 'worker'] },
  { shape: 'one process', roles: ['all'] },
] as const;

/** What a person sees who watches an answer being written: how much later it comes than from the model itself. */
export const w1Live: Bench = {
  name: 'w1-live',
  about: 'answers at 10 ms a chunk, 50 chunks, with 1, 20 and 100 live streams; commit to model request when idle',
  run: async (mode: BenchMode): Promise<BenchReport> => {
    await using cleanUp = new AsyncDisposableStack();
    const postgres = await BenchPostgres.start();
    cleanUp.defer(() => postgres.close());
    const { rows, aims } = await measureStreams(mode, postgres);
    for (const delay of await measureStartDelays(mode, postgres)) {
      const [startP50Ms, startP99Ms] = [rounded(delay.p50Ms), rounded(delay.p99Ms)];
      rows.push({ what: `idle start, ${delay.shape}`, startP50Ms, startP99Ms });
      aims.push(startDelayAim(delay));
    }
    return { rows, aims };
  },
};

async function measureStreams(mode: BenchMode, postgres: BenchPostgres): Promise<{ rows: Row[]; aims: Aim[] }> {
  await using cleanUp = new AsyncDisposableStack();
  const model = await startModel({ chunks: CHUNKS, delayMs: DELAY_MS });
  cleanUp.defer(() => model.close());
  const modelUrl = model.hello.url;
  const limits = await measureLimit(mode, modelUrl);
  const rows: Row[] = [...limits].map(([streams, { result, costs }]) => ({
    what: 'L0',
    streams,
    ...toRow(result),
    ...costs,
  }));
  const aims: Aim[] = [];
  for (const { shape, roles } of SHAPES) {
    const streams = await measureShape(mode, postgres, { modelUrl, roles });
    for (const [width, { result, costs }] of streams) {
      const limit = limits.get(width)?.result;
      const [addedP50Ms, addedP99Ms] = [rounded(added(50, result, limit)), rounded(added(99, result, limit))];
      rows.push({ what: shape, streams: width, ...toRow(result), addedP50Ms, addedP99Ms, ...costs });
      if (shape === 'two processes' && width === 100) aims.push(...aimsOf({ addedP50Ms, addedP99Ms, ...costs }));
    }
  }
  return { rows, aims };
}

/** The price of L0 is that of reading the model's chunks one by one: nothing that serves them live can be cheaper. */
async function measureLimit(mode: BenchMode, modelUrl: string): Promise<Map<number, Watched>> {
  await using cleanUp = new AsyncDisposableStack();
  const bare = new BareLoop(modelUrl, null);
  cleanUp.defer(() => bare.close());
  await load(bare, { width: 20, runs: 1, secondsEach: 0.5 });
  const results = new Map<number, Watched>();
  for (const width of WIDTHS) {
    mode.say(`L0, ${width} streams`);
    const before = cpuOf(process.pid);
    const result = await watch(mode, bare, width);
    const cores = rounded((cpuOf(process.pid) - before) / 1_000 / result.seconds);
    results.set(width, { result, costs: { cores } });
  }
  return results;
}

async function measureShape(
  mode: BenchMode,
  postgres: BenchPostgres,
  { modelUrl, roles }: { readonly modelUrl: string; readonly roles: (typeof SHAPES)[number]['roles'] },
) {
  await using cleanUp = new AsyncDisposableStack();
  const dataDir = await mkdtemp(join(tmpdir(), 'nightshift-bench-data-'));
  cleanUp.defer(() => rm(dataDir, { recursive: true, force: true }));
  const nightshift = await startNightshift(postgres, { modelUrl, roles, env: { DATA_DIR: dataDir } });
  cleanUp.defer(() => nightshift.close());
  const client = new GraphqlClient(nightshift, CHUNKS * CHUNK_TEXT.length);
  cleanUp.defer(() => client.close());
  await load(client, { width: 20, runs: 1, secondsEach: mode.quick ? 0.5 : 2 });
  await postgres.settle();
  const streams = new Map<number, Awaited<ReturnType<typeof watchProcesses>>>();
  for (const width of WIDTHS) {
    mode.say(`${roles.join(' and ')}, ${width} streams`);
    streams.set(width, await watchProcesses(nightshift, postgres, () => watch(mode, client, width)));
  }
  return streams;
}

interface Watched {
  readonly result: LoadResult;
  readonly costs: Readonly<Record<'cores', number>>;
}

/** Streams are spread over the time one takes, as people's are. The first of each is not looked at: not all run yet. */
async function watch(mode: BenchMode, client: JobClient, width: number): Promise<LoadResult> {
  const staggerMs = (CHUNKS * DELAY_MS) / width;
  const result = await load(client, { width, runs: 1, secondsEach: mode.quick ? 1.4 : 6, staggerMs });
  return { ...result, times: result.times.slice(width) };
}

async function watchProcesses(nightshift: Nightshift, postgres: BenchPostgres, run: () => Promise<LoadResult>) {
  const pids = nightshift.processes.map(({ pid }) => pid);
  const sum = () => pids.reduce((total, pid) => total + cpuOf(pid), 0);
  const [cpuBefore, postgresBefore] = [sum(), cpuOfFamily(postgres.pid)];
  const result = await run();
  const costs = {
    cores: rounded((sum() - cpuBefore) / 1_000 / result.seconds),
    postgresCores: rounded((cpuOfFamily(postgres.pid) - postgresBefore) / 1_000 / result.seconds),
    rssMb: pids.map((pid) => Math.round(rssOf(pid))).join(' + '),
  };
  return { result, costs };
}

function added(percent: number, result: LoadResult, limit: LoadResult | undefined): number {
  return limit === undefined ? Number.NaN : totalPercentile(result, percent) - totalPercentile(limit, percent);
}

function toRow(result: LoadResult): Row {
  const first = result.times.map(({ firstDeltaMs }) => firstDeltaMs);
  return {
    jobs: result.times.length,
    p50Ms: rounded(totalPercentile(result, 50)),
    p99Ms: rounded(totalPercentile(result, 99)),
    firstDeltaP50Ms: rounded(percentile(first, 50)),
    firstDeltaP99Ms: rounded(percentile(first, 99)),
  };
}

function aimsOf(found: { readonly addedP50Ms: number; readonly addedP99Ms: number; readonly cores: number }): Aim[] {
  return [
    atMost('added p50 at 100 live streams', found.addedP50Ms, [5, 'ms']),
    atMost('added p99 at 100 live streams', found.addedP99Ms, [25, 'ms']),
    atMost('cores of api and worker at 100 live streams', found.cores, [0.3, 'cores']),
  ];
}
