import type { Bench, BenchMode, BenchReport, Row } from './bench.js';
import { measureLimits } from './limits/measure-limits.js';
import { costColumns, measureCosts } from './measure/job-costs.js';
import { load } from './measure/load.js';
import { BenchPostgres } from './stack/bench-postgres.js';
import { EngineClient } from './stack/engine-client.js';
import { startModel } from './stack/model-process.js';

const WIDTHS = [1, 20, 100];

/** How much of `w1` is the engine itself: the same work in one process, without HTTP. */
export const engine: Bench = {
  name: 'engine',
  about: 'the work of w1 started, run and watched inside one process, without HTTP and GraphQL',
  run: async (mode: BenchMode): Promise<BenchReport> => {
    await using cleanUp = new AsyncDisposableStack();
    const postgres = await BenchPostgres.start();
    cleanUp.defer(() => postgres.close());
    const model = await startModel({ chunks: 200, delayMs: 0 });
    cleanUp.defer(() => model.close());
    const { rows: limits } = await measureLimits(mode, { postgres, modelUrl: model.hello.url, widths: WIDTHS });
    const client = await EngineClient.open(postgres, model.hello.url);
    cleanUp.defer(() => client.close());
    const rows: Row[] = [...limits];
    for (const width of WIDTHS) {
      mode.say(`engine, ${width} in flight`);
      await load(client, { width, runs: 1, secondsEach: mode.quick ? 1 : 3 });
      await postgres.settle();
      await load(client, { width, runs: 1, secondsEach: 0.5 });
      const shape = { width, runs: mode.quick ? 1 : 5, secondsEach: mode.quick ? 0.7 : 1.5 };
      const explain = mode.profile ? { explain: mode.say } : {};
      const costs = await measureCosts(client, shape, { postgres, pids: [process.pid], ...explain });
      rows.push({ what: 'engine', inFlight: width, ...costColumns(costs, []) });
    }
    return { rows, aims: [] };
  },
};
