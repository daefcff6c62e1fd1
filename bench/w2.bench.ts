import { type Aim, atLeast, atMost, type Bench, type BenchMode, type BenchReport, type Row } from './bench.js';
import { CommitPerNode, type Waves } from './limits/commit-per-node.js';
import { GroupCommittedNodes } from './limits/group-committed-nodes.js';
import { GroupCommittedStore } from './limits/group-committed-store.js';
import { costColumns, type JobCosts, measureCosts } from './measure/job-costs.js';
import { type JobClient, load } from './measure/load.js';
import { rounded } from './measure/statistics.js';
import { measureScale } from './measure/workflow-scale.js';
import { BenchPostgres } from './stack/bench-postgres.js';
import { EngineClient } from './stack/engine-client.js';
import { publishWorkflow } from './stack/publish-workflow.js';
import { fanOut, sequence } from './stack/workflow-definitions.js';

const WIDTHS = [1, 20];
const FAN = 50;

interface Shape {
  readonly name: string;
  readonly waves: Waves;
  readonly definition: object;
}

const shapes: readonly Shape[] = [
  { name: 'sequence', waves: Array.from({ length: 10 }, () => 1), definition: sequence(10) },
  { name: 'fan-out', waves: [1, FAN, 1], definition: fanOut(FAN) },
];

/**
 * What a workflow costs beside its nodes' own work: trivial nodes, one after the other and side by side. The lower bound of its log:
 * docs/adr/2026-11-22-cost-of-a-node.md.
 */
export const w2: Bench = {
  name: 'w2',
  about: 'workflows of trivial nodes (10 in a row; 1, 50, 1) through the engine and its writer, beside two limits',
  run: async (mode: BenchMode): Promise<BenchReport> => {
    await using cleanUp = new AsyncDisposableStack();
    const postgres = await BenchPostgres.start();
    cleanUp.defer(() => postgres.close());
    const store = await GroupCommittedStore.open(postgres.urls.owner);
    cleanUp.defer(() => store.close());
    const engine = await EngineClient.open(postgres, 'http://127.0.0.1:9');
    cleanUp.defer(() => engine.close());
    const rows: Row[] = [];
    const aims: Aim[] = [];
    for (const shape of shapes) {
      const perNode = await CommitPerNode.open(postgres.urls.owner, shape.waves);
      cleanUp.defer(() => perNode.close());
      await engine.take((app, principal) => publishWorkflow(app, principal, shape.definition));
      const clients: readonly (readonly [string, JobClient])[] = [
        ['a commit per node', perNode],
        ['group commit', new GroupCommittedNodes(store, shape.waves)],
        ['w2', engine],
      ];
      const costs = new Map<string, JobCosts>();
      for (const [what, client] of clients) {
        for (const width of WIDTHS) {
          const measured = await measure(mode, { postgres, client, width, name: `${shape.name}, ${what}` });
          costs.set(`${what} ${width}`, measured);
          rows.push({ what: `${shape.name}: ${what}`, inFlight: width, ...costColumns(measured, []) });
        }
      }
      aims.push(...aimsOf(shape, (what, width) => costs.get(`${what} ${width}`)));
    }
    const scale = await measureScale(mode, postgres, engine);
    return { rows: [...rows, ...scale.rows], aims: [...aims, ...scale.aims] };
  },
};

interface Measured {
  readonly postgres: BenchPostgres;
  readonly client: JobClient;
  readonly width: number;
  readonly name: string;
}

async function measure(mode: BenchMode, { postgres, client, width, name }: Measured): Promise<JobCosts> {
  mode.say(`${name}, ${width} in flight`);
  await load(client, { width, runs: 1, secondsEach: mode.quick ? 1 : 3 });
  await postgres.settle();
  await load(client, { width, runs: 1, secondsEach: 0.5 });
  const shape = { width, runs: mode.quick ? 1 : 5, secondsEach: mode.quick ? 1 : 1.5 };
  const explain = mode.profile && name.endsWith('w2') ? { explain: mode.say } : {};
  return measureCosts(client, shape, { postgres, pids: [process.pid], ...explain });
}

function aimsOf({ name, waves }: Shape, costs: (what: string, width: number) => JobCosts | undefined): Aim[] {
  const [one, many, perNode] = [costs('w2', 1), costs('w2', 20), costs('a commit per node', 20)];
  if (one === undefined || many === undefined || perNode === undefined) return [];
  const { jobs } = many.result;
  const share = rounded(many.result.jobsPerSecond / perNode.result.jobsPerSecond);
  if (name === 'sequence') {
    const stepMs = 1_000 / one.result.jobsPerSecond / waves.length;
    return [
      atLeast('sequence/s at 20 in flight, as a share of a commit per node', share, [0.5, '']),
      atMost('a step of the sequence at 1 in flight', rounded(stepMs), [0.5, 'ms']),
    ];
  }
  return [
    atLeast('fan-out/s at 20 in flight, as a multiple of a commit per node', share, [3, '']),
    atMost('write transactions per fan-out at 20 in flight', rounded(many.wal.writeTransactions / jobs), [8, '']),
    atMost('WAL per fan-out at 20 in flight', rounded(many.wal.walBytes / 1_024 / jobs), [24, 'KB']),
  ];
}
