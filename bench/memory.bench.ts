import { type Aim, atMost, type Bench, type BenchMode, type BenchReport, type Row } from './bench.js';
import { GraphqlClient } from './clients/graphql-client.js';
import { HeapProbe } from './measure/heap-probe.js';
import { loadCount } from './measure/load.js';
import { rssOf } from './measure/process-cpu.js';
import { rounded } from './measure/statistics.js';
import { BenchPostgres } from './stack/bench-postgres.js';
import { CHUNK_TEXT, startModel } from './stack/model-process.js';
import { startNightshift } from './stack/nightshift.js';

const CHUNKS = 20;
const WIDTH = 50;

/** Whether anything stays behind after a job. */
export const memory: Bench = {
  name: 'memory',
  about: 'heap of api and worker after a garbage collection, before and after 10,000 watched jobs',
  run: async (mode: BenchMode): Promise<BenchReport> => {
    await using cleanUp = new AsyncDisposableStack();
    const postgres = await BenchPostgres.start();
    cleanUp.defer(() => postgres.close());
    const model = await startModel({ chunks: CHUNKS, delayMs: 0 });
    cleanUp.defer(() => model.close());
    const env = { NODE_OPTIONS: '--inspect=127.0.0.1:0' };
    const nightshift = await startNightshift(postgres, { modelUrl: model.hello.url, roles: ['api', 'worker'], env });
    cleanUp.defer(() => nightshift.close());
    const probes: { name: string; pid: number; probe: HeapProbe }[] = [];
    for (const [i, started] of nightshift.processes.entries()) {
      const { pid } = started;
      const probe = await HeapProbe.open(started.output());
      cleanUp.defer(() => {
        probe.close();
      });
      probes.push({ name: i === 0 ? 'api' : 'worker', pid, probe });
    }
    const client = new GraphqlClient(nightshift, CHUNKS * CHUNK_TEXT.length);
    cleanUp.defer(() => client.close());
    const jobs = mode.quick ? 1_000 : 10_000;
    const rows: Row[] = [];
    const note = async (after: string) => {
      for (const { name, pid, probe } of probes) {
        rows.push({ after, process: name, heapMb: rounded(await probe.heapMb()), rssMb: Math.round(rssOf(pid)) });
      }
    };
    // Code is compiled and pools are filled by the first jobs.
    mode.say('warming up');
    await loadCount(client, mode.quick ? 500 : 2_000, WIDTH);
    await note('warm-up');
    mode.say(`${jobs} jobs`);
    await loadCount(client, jobs / 2, WIDTH);
    await note(`${jobs / 2} jobs`);
    await loadCount(client, jobs / 2, WIDTH);
    await note(`${jobs} jobs`);
    return { rows, aims: aimsOf(rows, jobs) };
  },
};

/** 2 MB in 10,000 jobs are 200 bytes a job: less than any object that knows its job would need. */
function aimsOf(rows: readonly Row[], jobs: number): Aim[] {
  return ['api', 'worker'].map((name) => {
    const heaps = rows.filter((row) => row['process'] === name).map((row) => Number(row['heapMb']));
    const grown = (heaps.at(-1) ?? 0) - (heaps[0] ?? 0);
    return atMost(`growth of the heap of the ${name} over ${jobs} jobs`, rounded(grown), [2, 'MB']);
  });
}
