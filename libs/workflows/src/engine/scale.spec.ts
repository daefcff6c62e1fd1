import { describe, expect, it } from '@jest/globals';

import { graphOf, type Sketch } from '../../../../test/harness/workflow-graphs.js';
import { planOf, simulate, Simulation } from '../../../../test/harness/workflow-simulator.js';

const agent = { type: 'agent' };
const work = ({ nodeId }: { readonly nodeId: string }): string => nodeId;

function agents(count: number): Sketch['nodes'] {
  return Object.fromEntries(Array.from({ length: count }, (_, at) => [`n${at}`, agent]));
}

/** Recovery with every row stored gives the same result and runs no node. */
function expectRecovery(simulated: Simulation): void {
  const again = new Simulation(simulated.run.plan, {}, simulated.rows()).start();
  expect(again.commands).toEqual([{ type: 'end', result: simulated.result }]);
}

describe('large runs', () => {
  it('run a chain of 1,000 nodes with one shared view', () => {
    const nodes = agents(1_000);
    const edges = Object.keys(nodes).map((id, at) => `${at === 0 ? 'start' : `n${at - 1}`} -> ${id}`);
    const simulated = simulate(graphOf({ nodes, edges }), { work });
    expect(simulated.result).toMatchObject({ status: 'completed', finalOutput: 'n999' });
    expect(simulated.row('n999').input).toBe('n998');
    expect(new Set(simulated.views.values()).size).toBe(1);
    expectRecovery(simulated);
  });

  it('fork to 500 nodes and join them in order', () => {
    const ids = Object.keys(agents(500));
    const edges = ids.flatMap((id) => [`start -> ${id}`, `${id} -> join`]);
    const simulated = simulate(graphOf({ nodes: { ...agents(500), join: agent }, edges }), {
      work,
      pick: (count) => count - 1,
    });
    expect(simulated.row('join').input).toBe(ids.join('\n\n'));
    expectRecovery(simulated);
  });

  it('run an inner loop of 50 iterations in each of 50 iterations', () => {
    const loop = { type: 'whileLoop', loopMode: 'fixed', maxIterations: 50, includePreviousOutputs: false };
    const nodes = { outer: loop, inner: loop, a: agent };
    const edges = ['start -> outer', 'outer:body -> inner', 'inner:body -> a'];
    const simulated = new Simulation(planOf(graphOf({ nodes, edges })), { work }).start().finish();
    expect(simulated.rows()).toHaveLength(2 + 50 + 2_500);
    expect(simulated.row('a', [50, 50]).status).toBe('completed');
    expectRecovery(simulated);
  });
});
