import { describe, expect, it } from '@jest/globals';

import { graphOf } from '../../../../test/harness/workflow-graphs.js';
import { planOf, simulate, Simulation } from '../../../../test/harness/workflow-simulator.js';

const agent = { type: 'agent' };
const key = (nodeId: string) => ({ nodeId, iteration: [] });

function fanOut(count: number) {
  const ids = Array.from({ length: count }, (_, at) => `n${at}`);
  const nodes = { ...Object.fromEntries(ids.map((id) => [id, agent])), join: agent };
  return graphOf({ nodes, edges: ids.flatMap((id) => [`start -> ${id}`, `${id} -> join`]) });
}

function startedFanOut(count: number): Simulation {
  const simulated = new Simulation(planOf(fanOut(count))).start();
  simulated.settle('start', 'go');
  return simulated;
}

describe('a run with ten slots for nodes', () => {
  it('runs ten nodes at once and queues the others in order', () => {
    const simulated = startedFanOut(12);
    expect(simulated.working).toEqual(Array.from({ length: 10 }, (_, at) => `n${at}`));
    simulated.settle('n5', 'done');
    expect(simulated.working.at(-1)).toBe('n10');
  });

  it('gives the slot of a waiting node to another node', () => {
    const simulated = startedFanOut(12);
    simulated.settle('n0', null);
    expect(simulated.row('n0').status).toBe('waiting');
    expect(simulated.working.at(-1)).toBe('n10');
  });

  it('becomes idle when all started nodes wait', () => {
    const simulated = startedFanOut(2);
    simulated.settle('n0', null);
    expect(simulated.run.resting).toBe(false);
    simulated.settle('n1', null);
    expect(simulated.run.resting).toBe(true);
  });

  it('assigns slots again to node runs whose answers have arrived', () => {
    const simulated = startedFanOut(2);
    simulated.settle('n0', null);
    simulated.settle('n1', null);
    const commands = simulated.send({ type: 'resumed', key: key('n0') });
    expect(commands).toMatchObject([{ type: 'run', isNew: false, run: { nodeId: 'n0', ordinal: 2 } }]);
    expect(simulated.run.resting).toBe(false);
    simulated.settle('n0', 'answered');
    expect(simulated.row('n0')).toMatchObject({ status: 'completed', output: 'answered', ordinal: 2 });
  });

  it('stores a waiting node once when it reports the wait repeatedly', () => {
    const simulated = startedFanOut(1);
    simulated.settle('n0', null);
    simulated.send({ type: 'resumed', key: key('n0') });
    const writes = simulated.writes.length;
    simulated.settle('n0', null);
    expect(simulated.writes).toHaveLength(writes);
    expect(simulated.run.resting).toBe(true);
  });

  it('accepts the result of a waiting node directly', () => {
    const simulated = startedFanOut(1);
    simulated.settle('n0', null);
    const settlement = { output: 'x', handles: ['output'], handOn: 'output' } as const;
    simulated.send({ type: 'settled', key: key('n0'), settlement });
    expect(simulated.working).toEqual(['join']);
  });

  it('waits while a loop waits for its decision', () => {
    const loop = { type: 'whileLoop', conditionPrompt: 'more?' };
    const graph = graphOf({ nodes: { loop, a: agent }, edges: ['start -> loop', 'loop:body -> a'] });
    const simulated = new Simulation(planOf(graph)).start();
    simulated.settle('start', 'go');
    simulated.settle('loop', null);
    expect([simulated.row('loop').status, simulated.run.resting]).toEqual(['waiting', true]);
    simulated.send({ type: 'resumed', key: key('loop') });
    simulated.send({ type: 'decided', key: key('loop'), iteration: 1, continues: true });
    expect([simulated.row('loop').status, simulated.working]).toEqual(['active', ['loop', 'a']]);
  });
});

describe('a run with a budget', () => {
  it('starts no more nodes than the step limit, and reports the limit once', () => {
    const simulated = new Simulation(planOf(fanOut(4), { maxSteps: 3 })).start();
    simulated.settle('start', 'go');
    expect(simulated.working).toEqual(['n0', 'n1']);
    expect(simulated.of('exhausted')).toEqual([{ type: 'exhausted', maxSteps: 3 }]);
    simulated.settle('n0', 'done');
    expect(simulated.run.resting).toBe(false);
    simulated.settle('n1', 'done');
    expect(simulated.run.resting).toBe(true);
    expect(simulated.of('exhausted')).toHaveLength(1);
    expect(simulated.run.steps).toBe(3);
  });

  it('ends the same when a later engine has a higher step limit', () => {
    const first = new Simulation(planOf(fanOut(4), { maxSteps: 3 })).start().finish();
    const again = new Simulation(planOf(fanOut(4), { maxSteps: 6 }), {}, first.rows()).start().finish();
    expect(again.of('exhausted')).toEqual([]);
    expect(again.result).toEqual(simulate(fanOut(4)).result);
  });

  it('reports a higher step limit, too, when it is reached', () => {
    const first = new Simulation(planOf(fanOut(4), { maxSteps: 2 })).start().finish();
    const again = new Simulation(planOf(fanOut(4), { maxSteps: 4 }), {}, first.rows()).start().finish();
    expect(again.of('exhausted')).toEqual([{ type: 'exhausted', maxSteps: 4 }]);
  });

  it('starts no node while the time, token or cost budget is used up', () => {
    const simulated = startedFanOut(2);
    simulated.send({ type: 'exhausted' });
    simulated.settle('n0', 'done');
    simulated.settle('n1', 'done');
    expect([simulated.working, simulated.run.resting]).toEqual([[], true]);
  });

  it('ends as failed when the request for more budget is denied', () => {
    const simulated = startedFanOut(2);
    simulated.send({ type: 'exhausted' });
    simulated.send({ type: 'stopped', code: 'budget_exceeded', message: 'Budget exceeded' });
    expect(simulated.result).toMatchObject({ status: 'failed', error: { code: 'budget_exceeded', nodeId: null } });
    expect(simulated.of('cancel')).toHaveLength(1);
  });

  it('fails after ten thousand node runs', () => {
    const loop = { type: 'whileLoop', loopMode: 'fixed', maxIterations: 1000, includePreviousOutputs: false };
    const ids = Array.from({ length: 10 }, (_, at) => `a${at}`);
    const nodes = { loop, ...Object.fromEntries(ids.map((id) => [id, agent])) };
    const chain = ids.slice(1).map((id, at) => `a${at} -> ${id}`);
    const graph = graphOf({ nodes, edges: ['start -> loop', 'loop:body -> a0', ...chain] });
    const simulated = simulate(graph, { work: () => 'x' });
    expect(simulated.result?.error).toMatchObject({ code: 'LIMIT_EXCEEDED', nodeId: null });
    expect(simulated.rows()).toHaveLength(10_000);
    expect(simulated.row('loop').status).toBe('cancelled');
    const again = new Simulation(planOf(graph), {}, simulated.rows()).start();
    expect(again.result).toEqual(simulated.result);
  });
});

describe('a cancelled run', () => {
  it('ends active nodes and begins no more', () => {
    const simulated = startedFanOut(12);
    simulated.settle('n0', null);
    simulated.settle('n1', 'done');
    simulated.send({ type: 'cancelled' });
    expect(simulated.result).toMatchObject({
      status: 'cancelled',
      success: false,
      error: { message: 'Workflow cancelled', nodeId: null },
    });
    const statuses = simulated.rows().map(({ status }) => status);
    expect(statuses).toEqual(['completed', 'cancelled', 'completed', ...Array.from({ length: 10 }, () => 'cancelled')]);
    expect(simulated.of('cancel')[0]?.keys).toHaveLength(11);
  });

  it('ignores later events', () => {
    const simulated = startedFanOut(1);
    simulated.send({ type: 'cancelled' });
    expect(simulated.send({ type: 'cancelled' })).toEqual([]);
    expect(simulated.send({ type: 'exhausted' })).toEqual([]);
    expect(simulated.run.resting).toBe(false);
  });
});
