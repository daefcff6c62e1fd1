import { ScriptedModel } from '../test/harness/scripted-model.js';
import { createGate, deltaChunk, doneLine, finishChunk, textChunk } from '../test/harness/scripted-reply.js';
import type { Bench, BenchMode, BenchReport, Row } from './bench.js';
import { GraphqlClient } from './clients/graphql-client.js';
import { type Received, SubscriberProcess } from './clients/subscriber-process.js';
import { cpuOf, rssOf } from './measure/process-cpu.js';
import { median, rounded } from './measure/statistics.js';
import { BenchPostgres } from './stack/bench-postgres.js';
import { type Nightshift, startNightshift } from './stack/nightshift.js';

const VIEWERS = [1, 100, 1000];
const VIEWERS_PER_PROCESS = 500;

/** How the text comes: as from a model and batched as by default, or as fast as single events can be written. */
const PACES = [
  { pace: 'live', chunks: 200, delayMs: 10, env: {} },
  { pace: 'flood', chunks: 400, delayMs: 1, env: { FEATURE_DELTA_BATCHING: 'false', WRITER_TICK_MS: '0' } },
] as const;
type Pace = (typeof PACES)[number];

const CHUNK = ' A piece of sixty characters, about what ten tokens come to.';

/** What one more viewer of the same job costs. */
export const w3: Bench = {
  name: 'w3',
  about: 'one stream to 1, 100 and 1000 graphql-transport-ws subscribers in other processes',
  run: async (mode: BenchMode): Promise<BenchReport> => {
    await using cleanUp = new AsyncDisposableStack();
    const postgres = await BenchPostgres.start();
    cleanUp.defer(() => postgres.close());
    const rows: Row[] = [];
    for (const pace of PACES) rows.push(...(await measurePace(mode, postgres, pace)));
    return { rows, aims: [] };
  },
};

async function measurePace(mode: BenchMode, postgres: BenchPostgres, pace: Pace): Promise<Row[]> {
  await using cleanUp = new AsyncDisposableStack();
  const model = await ScriptedModel.start();
  cleanUp.defer(() => model.close());
  model.stopRecording();
  const nightshift = await startNightshift(postgres, { modelUrl: model.url, roles: ['api', 'worker'], env: pace.env });
  cleanUp.defer(() => nightshift.close());
  const client = new GraphqlClient(nightshift, 0);
  cleanUp.defer(() => client.close());
  const rows: Row[] = [];
  for (const viewers of VIEWERS) {
    mode.say(`w3 ${pace.pace}, ${viewers} viewers`);
    rows.push(await measureViewers(mode, { pace, viewers, model, nightshift, client }));
  }
  return rows;
}

interface Measured {
  readonly pace: Pace;
  readonly viewers: number;
  readonly model: ScriptedModel;
  readonly nightshift: Nightshift;
  readonly client: GraphqlClient;
}

async function measureViewers(mode: BenchMode, measured: Measured): Promise<Row> {
  const { pace, viewers, nightshift } = measured;
  const { apiKey } = nightshift.workspace;
  const url = `${nightshift.url.replace(/^http/, 'ws')}/graphql`;
  const processes: SubscriberProcess[] = [];
  try {
    for (let left = viewers; left > 0; left -= VIEWERS_PER_PROCESS) {
      processes.push(await SubscriberProcess.start(url, apiKey, Math.min(left, VIEWERS_PER_PROCESS)));
    }
    const runs: Run[] = [];
    for (let run = 0; run < (mode.quick ? 1 : 3); run++) runs.push(await runStream(measured, processes));
    const middle = (of: (run: Run) => number) => rounded(median(runs.map(of)));
    return {
      pace: pace.pace,
      viewers,
      events: runs[0]?.events ?? 0,
      eventsPerSecond: middle(({ events, seconds }) => events / seconds),
      cpuUsPerEvent: middle(({ events, cpuMs }) => (cpuMs * 1_000) / events),
      apiCores: middle(({ seconds, cpuMs }) => cpuMs / 1_000 / seconds),
      p50Ms: middle(({ p50Ms }) => p50Ms),
      p99Ms: middle(({ p99Ms }) => p99Ms),
      apiRssMb: Math.round(rssOf(nightshift.processes[0]?.pid ?? 0)),
    };
  } finally {
    for (const started of processes) started.close();
  }
}

interface Run extends Received {
  readonly seconds: number;
  /** Of the api, from the first piece of text to the last viewer's end. */
  readonly cpuMs: number;
}

/** All viewers are subscribed before the model sends its first token. */
async function runStream(measured: Measured, processes: readonly SubscriberProcess[]): Promise<Run> {
  const { pace, model, nightshift, client } = measured;
  const gate = createGate();
  const text = Array.from({ length: pace.chunks }, () => [
    ...(pace.delayMs > 0 ? [{ delayMs: pace.delayMs }] : []),
    textChunk(CHUNK),
  ]);
  model.enqueue({ body: [deltaChunk({ role: 'assistant' }), gate, ...text.flat(), finishChunk('stop'), doneLine] });
  const jobId = await client.start();
  await Promise.all(processes.map((started) => started.subscribe(jobId)));
  const api = nightshift.processes[0]?.pid ?? 0;
  const cpuBefore = cpuOf(api);
  const startedAt = performance.now();
  gate.open();
  const received = await Promise.all(processes.map((started) => started.end()));
  const seconds = (performance.now() - startedAt) / 1_000;
  const sum = (of: (part: Received) => number) => received.reduce((total, part) => total + of(part), 0);
  const expected = pace.chunks * CHUNK.length * measured.viewers;
  if (sum((part) => part.text) !== expected) throw new Error('text was lost on its way to a viewer');
  return {
    events: sum(({ events }) => events),
    text: expected,
    p50Ms: median(received.map(({ p50Ms }) => p50Ms)),
    p99Ms: Math.max(...received.map(({ p99Ms }) => p99Ms)),
    seconds,
    cpuMs: cpuOf(api) - cpuBefore,
  };
}
