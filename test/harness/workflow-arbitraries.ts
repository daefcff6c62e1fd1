import { createHash } from 'node:crypto';

import fc from 'fast-check';

import type { WorkflowGraph } from '../../libs/workflows/src/definition/graph.js';
import type { RunPlan } from '../../libs/workflows/src/engine/run-plan.js';
import { graphOf, type Sketch } from './workflow-graphs.js';
import { type Done, keyOf, planOf, type World } from './workflow-simulator.js';

/** A node and where it hangs, as numbers that are interpreted once its level is known. */
interface Seed {
  readonly type: 'agent' | 'tool' | 'router' | 'whileLoop' | 'map' | 'subflow';
  readonly mode: 'stop' | 'continue' | 'branch';
  readonly parents: readonly { readonly node: number; readonly handle: number }[];
  readonly inside: readonly Seed[];
  readonly size: number;
}

/** A random workflow and the behavior of its world, which depends only on the node run. */
export interface RandomRun {
  readonly plan: RunPlan;
  /** Always the same one, with no request so far. */
  readonly world: () => World;
}

const handles: Readonly<Record<Seed['type'], readonly string[]>> = {
  agent: ['output', 'error', 'output'],
  tool: ['output', 'error'],
  router: ['r1', 'r2', 'r3', 'error'],
  whileLoop: ['done', 'done', 'error'],
  map: ['done', 'error'],
  subflow: ['output', 'error'],
};

function seeds(depth: number): fc.Arbitrary<readonly Seed[]> {
  const flat = ['agent', 'tool', 'agent', 'router'] as const;
  return fc.array(
    fc.record({
      type: fc.constantFrom(...flat, ...(depth > 0 ? (['whileLoop', 'map', 'subflow'] as const) : [])),
      mode: fc.constantFrom('stop' as const, 'continue' as const, 'branch' as const),
      parents: fc.array(fc.record({ node: fc.nat(20), handle: fc.nat(5) }), { maxLength: 3 }),
      inside: depth > 0 ? seeds(depth - 1) : fc.constant([]),
      size: fc.integer({ min: 1, max: 3 }),
    }),
    { minLength: 1, maxLength: depth > 0 ? 5 : 3 },
  );
}

/** `calm`: nodes fail only where the run continues after it. In other runs the first failure may end the run. */
export function randomRuns({ calm }: { readonly calm: boolean }): fc.Arbitrary<RandomRun> {
  return fc.record({ level: seeds(2), salt: fc.nat(1_000_000) }).map(({ level, salt }) => {
    const subflows = new Map<string, WorkflowGraph>();
    const sketch = sketchOf(level, subflows);
    return { plan: planOf(graphOf(sketch), { subflows }), world: () => worldOf(String(salt), calm) };
  });
}

function sketchOf(level: readonly Seed[], subflows: Map<string, WorkflowGraph>): Sketch {
  const sketch: Level['sketch'] = { nodes: {}, edges: [] };
  hang(level, { prefix: 'n', entry: 'start', sketch, subflows });
  return { ...sketch, nodes: labelled(sketch) };
}

/** The label marks nodes whose failure does not end the run. */
function labelled({ nodes, edges }: Level['sketch']): Sketch['nodes'] {
  const branches = new Set(edges.map((edge) => edge.split(' ', 1)[0]));
  const isPassedOver = (id: string, mode: unknown): boolean =>
    mode === 'continue' || (mode === 'branch' && branches.has(`${id}:error`));
  return Object.fromEntries(
    Object.entries(nodes).map(([id, node]) => [
      id,
      { ...node, label: isPassedOver(id, node['mode']) ? PASSED_OVER : id },
    ]),
  );
}

const PASSED_OVER = 'passed over';

interface Level {
  readonly prefix: string;
  /** The edges into it, with handles. */
  readonly entry: string;
  readonly sketch: {
    readonly nodes: Record<string, { type: string } & Record<string, unknown>>;
    readonly edges: string[];
  };
  readonly subflows: Map<string, WorkflowGraph>;
}

function hang(level: readonly Seed[], { prefix, entry, sketch, subflows }: Level): void {
  level.forEach((seed, at) => {
    const id = `${prefix}${at}`;
    const { type, mode, size, inside } = seed;
    const subflowId = `w${subflows.size}`;
    sketch.nodes[id] = {
      type,
      mode,
      errorHandling: { mode },
      toolId: 't',
      subflowId,
      inputMappings: { input: '{{input}}' },
      conditionPrompt: 'more?',
      maxIterations: size,
      loopMode: size === 2 ? 'fixed' : 'condition',
      maxConcurrency: size,
      onItemError: mode === 'stop' ? 'stop' : 'continue',
    };
    for (const edge of parentsOf(level, at, { prefix, entry })) sketch.edges.push(`${edge} -> ${id}`);
    if (type === 'whileLoop' || type === 'map')
      hang(inside, { prefix: `${id}_`, entry: `${id}:body`, sketch, subflows });
    if (type === 'subflow') {
      subflows.set(subflowId, graphOf({ nodes: {}, edges: [] }));
      subflows.set(subflowId, graphOf(sketchOf(inside, subflows)));
    }
  });
}

function parentsOf(
  level: readonly Seed[],
  at: number,
  { prefix, entry }: Pick<Level, 'prefix' | 'entry'>,
): ReadonlySet<string> {
  const edges = (level[at]?.parents ?? []).flatMap(({ node, handle }) => {
    const parent = at === 0 ? undefined : level[node % at];
    if (parent === undefined) return [];
    const names = handles[parent.type];
    return [`${prefix}${node % at}:${names[handle % names.length] ?? ''}`];
  });
  return new Set(edges.length === 0 ? [entry] : edges);
}

function worldOf(salt: string, calm: boolean): World {
  const asked = new Set<string>();
  const chance = (of: number, ...about: readonly unknown[]): number => digest([salt, ...about]).readUInt32BE() % of;
  return {
    work: (run) => {
      const key = keyOf(run);
      const { type } = run;
      if (type === 'start') return run.input;
      if (chance(5, 'wait', key) === 0 && !asked.has(key)) {
        asked.add(key);
        return null;
      }
      if (chance(5, 'fail', key) === 0 && (!calm || run.label === PASSED_OVER)) return { fail: `failed ${key}` };
      const output = `${run.nodeId}:${digest([run.input]).toString('hex', 0, 4)}`;
      if (type !== 'router') return output;
      return { output: run.input, handles: [`r${1 + chance(3, 'route', key)}`], handOn: 'input' } satisfies Done;
    },
    decide: ({ run, iteration }) => chance(3, 'decide', keyOf(run), iteration) > 0,
    list: (run) => Array.from({ length: chance(4, 'list', keyOf(run)) }, (_, at) => `item ${at}`),
  };
}

function digest(about: readonly unknown[]): Buffer {
  return createHash('sha1').update(JSON.stringify(about)).digest();
}
