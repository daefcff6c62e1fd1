import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { type Aim, atLeast, atMost, type Bench, type BenchMode, type BenchReport, type Row } from './bench.js';
import { CompletionsClient, type CompletionServer } from './clients/completions-client.js';
import { load, type LoadResult, type LoadShape } from './measure/load.js';
import { cpuOf } from './measure/process-cpu.js';
import { percentile, rounded } from './measure/statistics.js';
import { startAiSdkProxy } from './stack/ai-sdk-proxy.js';
import { BenchPostgres } from './stack/bench-postgres.js';
import { CHUNK_TEXT, startModel } from './stack/model-process.js';
import { startNightshift } from './stack/nightshift.js';

/** Somebody who serves completions: the model itself, a proxy in one process, and Nightshift in one process and in two. */
interface Server extends CompletionServer {
  readonly what: 'model' | 'AI SDK proxy' | 'one process' | 'two processes';
  readonly pids: readonly number[];
}

/** Paced like a person reads: what stands between the model and its first text shows. */
const live = { name: 'live', chunks: 50, delayMs: 10, width: 20 } as const;
/** As fast as it goes: what an answer costs shows. */
const flood = { name: 'flood', chunks: 200, delayMs: 0, width: 50 } as const;

type Work = typeof live | typeof flood;

/** What it costs to go through Nightshift instead of asking the model, and beside a proxy that keeps nothing. */
export const v1: Bench = {
  name: 'v1',
  about: 'POST /v1/chat/completions: first text at 20 live streams, answers/s beside a proxy made with the AI SDK',
  run: async (mode: BenchMode): Promise<BenchReport> => {
    await using cleanUp = new AsyncDisposableStack();
    const postgres = await BenchPostgres.start();
    cleanUp.defer(() => postgres.close());
    const rows: Row[] = [];
    const firsts = new Map<Server['what'], number>();
    for (const [{ what, pids }, result] of await measureAll(mode, postgres, live)) {
      firsts.set(what, firstP50(result.load));
      const addedFirstP50Ms = rounded(firstP50(result.load) - (firsts.get('model') ?? Number.NaN));
      rows.push({ work: live.name, what, ...columns(live, result, pids.length), addedFirstP50Ms });
    }
    const rates = new Map<Server['what'], number>();
    for (const [{ what, pids }, result] of await measureAll(mode, postgres, flood)) {
      rates.set(what, result.load.jobsPerSecond);
      rows.push({ work: flood.name, what, ...columns(flood, result, pids.length) });
    }
    return { rows, aims: aimsOf(firsts, rates) };
  },
};

interface Measured {
  readonly load: LoadResult;
  readonly cpuMs: number;
}

/** Nightshift in one shape after the other: two at once would share a database, and each other's jobs. */
async function measureAll(mode: BenchMode, postgres: BenchPostgres, work: Work): Promise<Map<Server, Measured>> {
  await using cleanUp = new AsyncDisposableStack();
  const model = await startModel({ ...work, tool: 'none' });
  cleanUp.defer(() => model.close());
  const { url: modelUrl } = model.hello;
  const proxy = await startAiSdkProxy(modelUrl);
  cleanUp.defer(() => proxy.close());
  const measured = new Map<Server, Measured>();
  const plain: readonly Server[] = [
    { what: 'model', url: modelUrl, apiKey: null, pids: [model.pid] },
    { what: 'AI SDK proxy', url: proxy.hello.url, apiKey: null, pids: [proxy.pid] },
  ];
  for (const server of plain) measured.set(server, await measure(mode, work, server));
  for (const what of ['one process', 'two processes'] as const) {
    await using stopping = new AsyncDisposableStack();
    const server = await startServer(stopping, postgres, { what, modelUrl });
    await postgres.settle();
    measured.set(server, await measure(mode, work, server));
  }
  return measured;
}

async function startServer(
  cleanUp: AsyncDisposableStack,
  postgres: BenchPostgres,
  { what, modelUrl }: { readonly what: 'one process' | 'two processes'; readonly modelUrl: string },
): Promise<Server> {
  const dataDir = await mkdtemp(join(tmpdir(), 'nightshift-bench-data-'));
  cleanUp.defer(() => rm(dataDir, { recursive: true, force: true }));
  const roles = what === 'one process' ? (['all'] as const) : (['api', 'worker'] as const);
  const started = await startNightshift(postgres, { modelUrl, roles, env: { DATA_DIR: dataDir } });
  cleanUp.defer(() => started.close());
  const pids = started.processes.map(({ pid }) => pid);
  return { what, url: `${started.url}/v1`, apiKey: started.workspace.apiKey, pids };
}

async function measure(mode: BenchMode, work: Work, server: Server): Promise<Measured> {
  mode.say(`${work.name}, ${server.what}, ${work.width} at a time`);
  await using cleanUp = new AsyncDisposableStack();
  const client = new CompletionsClient(server, work.chunks * CHUNK_TEXT.length);
  cleanUp.defer(() => client.close());
  const shape: LoadShape = {
    width: work.width,
    runs: mode.quick ? 1 : 3,
    secondsEach: mode.quick ? 1 : 3,
    staggerMs: (work.chunks * work.delayMs) / work.width,
  };
  await load(client, { ...shape, runs: 1, secondsEach: mode.quick ? 0.5 : 3 });
  const cpuBefore = cpu(server);
  const result = await load(client, shape);
  return { load: result, cpuMs: cpu(server) - cpuBefore };
}

function cpu({ pids }: Server): number {
  return pids.reduce((sum, pid) => sum + cpuOf(pid), 0);
}

function firstP50({ times }: LoadResult): number {
  return percentile(
    times.map(({ firstDeltaMs }) => firstDeltaMs),
    50,
  );
}

function columns(work: Work, { load: result, cpuMs }: Measured, processes: number): Row {
  const first = result.times.map(({ firstDeltaMs }) => firstDeltaMs);
  const total = result.times.map(({ totalMs }) => totalMs);
  return {
    processes,
    streams: work.width,
    answers: result.jobs,
    answersPerSecond: rounded(result.jobsPerSecond),
    chunksPerSecond: rounded(result.jobsPerSecond * work.chunks),
    firstP50Ms: rounded(percentile(first, 50)),
    firstP99Ms: rounded(percentile(first, 99)),
    p50Ms: rounded(percentile(total, 50)),
    p99Ms: rounded(percentile(total, 99)),
    cpuMsPerAnswer: rounded(cpuMs / result.jobs),
  };
}

function aimsOf(firsts: ReadonlyMap<Server['what'], number>, rates: ReadonlyMap<Server['what'], number>): Aim[] {
  const added = (what: Server['what']) => rounded((firsts.get(what) ?? NaN) - (firsts.get('model') ?? NaN));
  const share = (what: Server['what']) => rounded((rates.get(what) ?? NaN) / (rates.get('AI SDK proxy') ?? NaN));
  return [
    atMost('first text later than from the model, p50, two processes', added('two processes'), [15, 'ms']),
    atMost('first text later than from the model, p50, one process', added('one process'), [15, 'ms']),
    atLeast('answers/s beside the AI SDK proxy, two processes', share('two processes'), [3, 'x']),
    atLeast('answers/s beside the AI SDK proxy, one process', share('one process'), [3, 'x']),
  ];
}
