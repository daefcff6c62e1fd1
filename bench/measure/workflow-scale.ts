import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

import { type Aim, atMost, type BenchMode, type BenchReport, type Row } from '../bench.js';
import type { BenchPostgres } from '../stack/bench-postgres.js';
import type { EngineClient } from '../stack/engine-client.js';
import { publishWorkflow } from '../stack/publish-workflow.js';
import { fanOut, nestedLoops, sequence } from '../stack/workflow-definitions.js';
import { loadCount } from './load.js';
import { cpuOf, cpuOfFamily } from './process-cpu.js';
import { rounded } from './statistics.js';

interface Size {
  readonly what: string;
  readonly nodeRuns: number;
  readonly definition: object;
}

/** From small to large; a definition has at most 500 nodes, so what is longer goes round in loops. */
const sizes: Readonly<Record<string, readonly Size[]>> = {
  chain: [100, 300, 500].map((n) => ({ what: `chain of ${n}`, nodeRuns: n, definition: sequence(n) })),
  'fan-out': [98, 298, 498].map((n) => ({ what: `1, ${n}, 1`, nodeRuns: n + 2, definition: fanOut(n) })),
  'nested loops': [10, 20, 50].map((n) => ({
    what: `${n} passes in each of ${n}`,
    nodeRuns: n * n + n + 3,
    definition: nestedLoops(n),
  })),
};

/** What a node costs in large workflows, one at a time: CPU of this process and of Postgres, and what stays in the heap. */
export async function measureScale(
  mode: BenchMode,
  postgres: BenchPostgres,
  engine: EngineClient,
): Promise<Pick<BenchReport, 'rows' | 'aims'>> {
  const rows: Row[] = [];
  const aims: Aim[] = [];
  for (const [shape, all] of Object.entries(sizes)) {
    const perNode: number[] = [];
    for (const { what, nodeRuns, definition } of all) {
      mode.say(what);
      await engine.take((app, principal) => publishWorkflow(app, principal, definition));
      const jobs = Math.ceil((mode.quick ? 3_000 : 15_000) / nodeRuns);
      await loadCount(engine, Math.ceil(jobs / 3), 1);
      const [heap, cpu, postgresCpu] = [heapMb(), cpuOf(process.pid), cpuOfFamily(postgres.pid)];
      const times = await loadCount(engine, jobs, 1);
      const [cpuMs, postgresCpuMs] = [cpuOf(process.pid) - cpu, cpuOfFamily(postgres.pid) - postgresCpu];
      const runs = jobs * nodeRuns;
      perNode.push((cpuMs + postgresCpuMs) / runs);
      rows.push({
        what,
        inFlight: 1,
        p50Ms: rounded(times.map(({ totalMs }) => totalMs).sort((a, b) => a - b)[Math.floor(jobs / 2)] ?? 0),
        cpuMs: rounded(cpuMs / jobs),
        postgresCpuMs: rounded(postgresCpuMs / jobs),
        cpuMsPerNode: rounded((cpuMs + postgresCpuMs) / runs),
        heapGrowthMb: rounded(heapMb() - heap),
      });
    }
    const growth = (perNode.at(-1) ?? 0) / (perNode[0] ?? 1);
    aims.push(
      atMost(`${shape}: CPU of a node in the largest, as a multiple of the smallest`, rounded(growth), [1.5, '']),
    );
  }
  return { rows, aims };
}

/** After a garbage collection. */
function heapMb(): number {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as () => void; // the flag puts it there
  collect();
  return process.memoryUsage().heapUsed / 1_048_576;
}
