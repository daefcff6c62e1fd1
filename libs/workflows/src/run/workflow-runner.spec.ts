import { describe, expect, it, jest } from '@jest/globals';

import type { JobRun, RunWrite } from '#jobs';
import { ManualClock, systemClock, TimeSlice } from '#platform';

import { graphOf, type Sketch } from '../../../../test/harness/workflow-graphs.js';
import { planOf } from '../../../../test/harness/workflow-simulator.js';
import type { NodeContext, NodeExecutor, NodeOutcome } from '../engine/node-executor.js';
import { WorkflowRun } from '../engine/workflow-run.js';
import { createNodeRegistry } from '../nodes/create-node-registry.js';
import type { LeaseContext } from './lease-context.js';
import type { RunBudget, UsedUp } from './run-budget.js';
import { RunFacts } from './run-facts.js';
import { type RunnerDependencies, WorkflowRunner } from './workflow-runner.js';

type Work = (context: NodeContext) => NodeOutcome | Promise<NodeOutcome>;

const unlimited = { usedUp: null, msLeft: null };

/** A run whose nodes of type `transform` are pure, and whose HTTP nodes are not. */
function scene(sketch: Sketch, { transform, http }: { readonly transform: Work; readonly http?: Work }) {
  const registry = createNodeRegistry(systemClock);
  const executors: Readonly<Record<string, NodeExecutor>> = {
    transform: { type: 'transform', isPure: () => true, runNow: transform, run: async (node) => transform(node) },
    http: { type: 'http', isPure: () => false, run: async (node) => (http ?? transform)(node) },
  };
  const controller = new AbortController();
  const unsent: RunWrite[] = [];
  const run = {
    job: { jobId: 'j', workspaceId: 'w', format: 1 },
    signal: controller.signal,
    draining: false,
    append: (write: RunWrite) => unsent.push(write),
    abort: (reason: Error) => {
      controller.abort(reason);
    },
  };
  const services = {
    registry: { executorOf: (type: 'start') => executors[type] ?? registry.executorOf(type) },
    hooks: { has: () => false },
  };
  const plan = planOf(graphOf(sketch));
  // A run without models, questions and hooks uses nothing else of its context.
  const context = { run: run as unknown as JobRun, services, facts: new RunFacts(() => 0) } as unknown as LeaseContext;
  return {
    run,
    /** What is not committed yet; a commit takes it. */
    takeUnsent: () => unsent.splice(0),
    drive: ({
      budget = unlimited,
      slice,
    }: { budget?: Pick<RunBudget, 'usedUp' | 'msLeft'> } & Pick<RunnerDependencies, 'slice'>) =>
      new WorkflowRunner({
        ...{ engine: new WorkflowRun(plan), context, plan, pauseMs: 1_000 },
        ...(slice === undefined ? {} : { slice }),
        budget: budget as RunBudget, // these tests ask for no more
        answersTo: () => Promise.resolve({ requests: [], calls: [], questions: [] }),
      }).drive(),
  };
}

const ids = ['a', 'b', 'c', 'd', 'e'];
const nodesOf = (type: string) =>
  Object.fromEntries(ids.map((id) => [id, { type, expression: 'text', url: 'http://x' }]));
const shapes: Readonly<Record<string, Sketch>> = {
  chain: { nodes: nodesOf('transform'), edges: ids.map((id, i) => `${ids[i - 1] ?? 'start'} -> ${id}`) },
  'fan-out': { nodes: nodesOf('transform'), edges: ids.map((id) => `start -> ${id}`) },
};
const passOn: Work = ({ input }) => ({ type: 'finished', output: input, handles: ['output'], handOn: 'output' });

/** Calls `look` in every turn of the event loop, as other work of the process. */
function everyTurn(look: () => void) {
  let isOver = false;
  const turn = () => {
    if (isOver) return;
    look();
    setImmediate(turn);
  };
  setImmediate(turn);
  return () => {
    isOver = true;
  };
}

/** Which nodes ran in each turn of the event loop. */
async function turnsOf(sketch: Sketch, nodeMs: number): Promise<readonly (readonly string[])[]> {
  const clock = new ManualClock();
  const turns: string[][] = [[]];
  const { drive } = scene(sketch, {
    transform: (context) => {
      turns.at(-1)?.push(context.node.id);
      clock.advance(nodeMs);
      return passOn(context);
    },
  });
  const stop = everyTurn(() => turns.push([]));
  expect(await drive({ slice: new TimeSlice(clock) })).toMatchObject({ type: 'ended', result: { success: true } });
  stop();
  return turns.filter((nodes) => nodes.length > 0);
}

describe.each(Object.entries(shapes))('run of a %s of pure nodes', (_, sketch) => {
  it('lets other work of the process run between nodes that take long', async () => {
    expect(await turnsOf(sketch, 30)).toEqual(ids.map((id) => [id]));
  });

  it('takes one turn of the event loop if its nodes take less than 10 ms', async () => {
    expect(await turnsOf(sketch, 1)).toEqual([ids]);
  });

  it('commits no start of a node without its row, so that a later worker does not publish the start again', async () => {
    const clock = new ManualClock();
    const begun = new Set<string>();
    const stored = new Set<string>();
    const commits: (readonly string[])[] = [];
    const { drive, takeUnsent } = scene(sketch, {
      transform: (context) => {
        clock.advance(30);
        return passOn(context);
      },
    });
    const stop = everyTurn(() => {
      for (const { events = [], rows = [] } of takeUnsent()) {
        for (const event of events) if (event.type === 'node-started') begun.add(event.body.nodeRunId);
        for (const { key } of rows) stored.add(`j:${key}`);
      }
      commits.push([...begun].filter((id) => !stored.has(id)));
    });
    await drive({ slice: new TimeSlice(clock) });
    stop();
    expect(commits.length).toBeGreaterThanOrEqual(ids.length - 1);
    expect(commits.flat()).toEqual([]);
  });
});

describe('WorkflowRunner', () => {
  it('notices during a pause between nodes that the time limit has passed, even if all nodes hang', async () => {
    const timers: (() => void)[] = [];
    const after = jest.spyOn(systemClock, 'after').mockImplementation((_, fire) => {
      timers.push(fire);
      return { cancel: () => undefined };
    });
    const budget: { usedUp: UsedUp | null; msLeft: number } = { usedUp: null, msLeft: 1 };
    const begun: string[] = [];
    const { run, drive } = scene(
      {
        nodes: { a: { type: 'http', url: 'http://x' }, b: { type: 'http', url: 'http://x' } },
        edges: ['start -> a', 'start -> b'],
      },
      {
        transform: passOn,
        http: async ({ node, signal }) => {
          begun.push(node.id);
          await new Promise((_, reject) => {
            signal.addEventListener('abort', () => {
              reject(new Error('aborted'));
            });
          });
          throw new Error('not reached');
        },
      },
    );
    const slice = {
      get isOver() {
        return begun.length === 1;
      },
      nextTurn: () => {
        budget.usedUp = { kind: 'time', used: 1 };
        for (const fire of timers.splice(0)) fire();
        return Promise.resolve();
      },
    };
    const outcome = drive({ slice, budget });
    await new Promise(setImmediate);
    expect([begun, run.draining]).toEqual([['a', 'b'], true]);
    for (const fire of timers.splice(0)) fire(); // the pause in which its nodes may end
    expect(await outcome).toEqual({ type: 'released' });
    after.mockRestore();
  });
});
