import { describe, expect, it } from '@jest/globals';

import { graphOf } from '../../../../test/harness/workflow-graphs.js';
import { planOf } from '../../../../test/harness/workflow-simulator.js';
import type { Waiting } from '../engine/node-executor.js';
import type { NodeRunRow } from '../engine/node-run.js';
import type { RunEvent } from '../engine/run-event.js';
import { ScopeMemory } from '../engine/scope-memory.js';
import type { LeaseContext } from './lease-context.js';
import { PlanNodes } from './locate-node.js';
import type { Answers, Awaited } from './node-runs.repository.js';
import { WorkPool } from './work-pool.js';

const ids = (count: number) => Array.from({ length: count }, (_, at) => `n${at}`);
const never = new Promise<never>(() => undefined);

/** A pool whose nodes wait as specified, while one of them keeps working. */
async function scene(waits: Readonly<Record<string, Omit<Waiting, 'type'>>>) {
  const nodes = [...Object.keys(waits), 'busy'];
  const graph = graphOf({
    nodes: Object.fromEntries(nodes.map((id) => [id, { type: 'agent' }])),
    edges: nodes.map((id) => `start -> ${id}`),
  });
  const events: RunEvent[] = [];
  const asked: Awaited[] = [];
  let answers: Answers = { requests: [], calls: [], questions: [] };
  const run = { signal: new AbortController().signal, commit: () => Promise.resolve(), job: {} };
  const view = ScopeMemory.of({ workflowName: 'w', sessionId: 's', inputs: new Map(), attachments: [] }, []);
  const pool = new WorkPool({
    // It commits, and has its questions loaded; nothing else of its context is touched by nodes that only wait.
    context: { run, questions: { load: () => undefined } } as unknown as LeaseContext,
    nodes: new PlanNodes(planOf(graph)),
    viewOf: () => view,
    answersTo: (awaited) => {
      asked.push(awaited);
      return Promise.resolve(answers);
    },
    publish: (event) => events.push(event),
    ...{ wake: () => undefined, release: () => undefined },
  });
  const assign = (nodeId: string) => {
    const row = { ordinal: nodes.indexOf(nodeId) + 1, nodeId, path: [], iteration: [] } as unknown as NodeRunRow; // as far as a pool looks
    const wait = waits[nodeId];
    pool.assign(row, () =>
      wait === undefined
        ? never
        : Promise.resolve({ event: { type: 'waiting', key: row }, waits: { type: 'waiting', ...wait } }),
    );
  };
  for (const id of nodes) assign(id);
  const settle = () => new Promise((resolve) => setImmediate(resolve));
  await settle();
  return {
    asked,
    /** Gives who was resumed, and has them wait again. */
    answer: async (come: Partial<Answers>): Promise<readonly string[]> => {
      answers = { requests: [], calls: [], questions: [], ...come };
      events.length = 0;
      pool.answerArrived();
      await settle();
      return events.flatMap((event) => (event.type === 'resumed' ? [event.key.nodeId] : []));
    },
  };
}

describe('nodes that wait while others work', () => {
  it('run again only after answers to their own requests', async () => {
    const nodes = ids(200);
    const { answer, asked } = await scene(
      Object.fromEntries(nodes.map((id) => [id, { interruptIds: [`about ${id}`] }])),
    );
    const resumed: string[] = [];
    for (const id of nodes) resumed.push(...(await answer({ requests: [`about ${id}`] })));
    expect(resumed).toEqual(nodes);
    expect(asked[0]?.requests).toEqual(nodes.map((id) => `about ${id}`));
  });

  it('run again after a tool call that they wait for has ended in another process', async () => {
    const { answer, asked } = await scene({
      queued: { interruptIds: [], calls: ['1:1', '1:2'] },
      both: { interruptIds: ['about both'], calls: ['2:1'] },
      other: { interruptIds: [], calls: ['3:1'] },
    });
    expect(await answer({ calls: ['1:2'] })).toEqual(['queued']);
    expect(await answer({ calls: ['2:1'] })).toEqual(['both']);
    expect(await answer({ requests: ['about both'], calls: ['3:1'] })).toEqual(['both', 'other']);
    expect(asked[0]).toEqual({ requests: ['about both'], calls: ['1:1', '1:2', '2:1', '3:1'] });
  });

  it('do not run again after answers to requests and calls of other nodes', async () => {
    const { answer } = await scene({ a: { interruptIds: ['x'] } });
    expect(await answer({})).toEqual([]);
    expect(await answer({ requests: ['y'], calls: ['1:1'] })).toEqual([]);
  });
});
