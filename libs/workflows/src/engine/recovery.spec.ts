import { describe, expect, it } from '@jest/globals';

import { graphOf } from '../../../../test/harness/workflow-graphs.js';
import { keyOf, planOf, Simulation, type World } from '../../../../test/harness/workflow-simulator.js';

const agent = { type: 'agent' };

/** Starts the same run again from the rows that the first one has written. */
function revived(first: Simulation, world: World = {}): Simulation {
  return new Simulation(first.run.plan, world, first.rows()).start();
}

function fanOut(count: number): Simulation {
  const ids = Array.from({ length: count }, (_, at) => `n${at}`);
  const nodes = Object.fromEntries(ids.map((id) => [id, agent]));
  const simulated = new Simulation(planOf(graphOf({ nodes, edges: ids.map((id) => `start -> ${id}`) }))).start();
  simulated.settle('start', 'go');
  return simulated;
}

describe('a run after a crash', () => {
  it('runs unfinished nodes again, with their earlier numbers', () => {
    const first = fanOut(3);
    first.settle('n1', 'done');
    const again = revived(first);
    expect(again.of('run').map(({ run, isNew }) => [run.nodeId, run.ordinal, isNew])).toEqual([
      ['n0', 2, false],
      ['n2', 4, false],
    ]);
    expect(again.writes).toEqual([]);
  });

  it('runs waiting nodes again, and writes nothing if they still wait', () => {
    const first = fanOut(1);
    first.settle('n0', null);
    const again = revived(first);
    expect(again.of('run')).toMatchObject([{ isNew: false, run: { nodeId: 'n0', status: 'waiting' } }]);
    again.settle('n0', null);
    expect([again.writes, again.run.resting]).toEqual([[], true]);
  });

  it('assigns slots to begun nodes before others', () => {
    const first = fanOut(12);
    first.settle('n0', null);
    first.settle('n1', null);
    const again = revived(first);
    expect(again.working).toEqual(Array.from({ length: 10 }, (_, at) => `n${at}`));
    again.settle('n2', 'done');
    expect(again.working.at(-1)).toBe('n10');
    expect(again.of('run').every(({ isNew }) => !isNew)).toBe(true);
  });

  it('counts the steps of earlier leases', () => {
    const first = fanOut(3);
    expect(revived(first).run.steps).toBe(first.run.steps);
  });

  it('starts no node if a budget of the runner is used up at its start', () => {
    const again = new Simulation(fanOut(3).run.plan, {}, fanOut(3).rows());
    again.send({ type: 'exhausted' });
    again.start();
    expect([again.working, again.run.resting]).toEqual([[], true]);
  });

  it('reports a reached step limit again', () => {
    const first = new Simulation({ ...fanOut(3).run.plan, maxSteps: 2 }).start().finish();
    const again = revived(first);
    expect(again.commands).toEqual([{ type: 'exhausted', maxSteps: 2 }]);
  });

  it('reuses an ordinal whose row was not stored', () => {
    const first = fanOut(3);
    const kept = first.rows().filter(({ nodeId }) => nodeId !== 'n1');
    const again = new Simulation(first.run.plan, {}, kept).start();
    expect(again.of('run').map(({ run, isNew }) => [run.nodeId, run.ordinal, isNew])).toEqual([
      ['n0', 2, false],
      ['n2', 4, false],
      ['n1', 3, true],
    ]);
  });

  it('completes a failure that the crash interrupted', () => {
    const first = fanOut(3);
    first.settle('n1', { fail: 'broken' });
    const cut = first.writes.findIndex(({ status }) => status === 'error') + 1;
    const again = new Simulation(first.run.plan, {}, first.rows(cut)).start();
    expect(again.result).toEqual(first.result);
    expect(again.writes.map((row) => [row.nodeId, row.status])).toEqual([
      ['n0', 'cancelled'],
      ['n2', 'cancelled'],
    ]);
  });

  const child = graphOf({ nodes: { x: agent, y: agent }, edges: ['start -> x', 'x -> y'] });
  const sub = { type: 'subflow', subflowId: 'c', inputMappings: { input: '{{input}}' } };
  const subflows = new Map([['c', child]]);

  it('starts no node of a subflow that a failure has ended', () => {
    const graph = graphOf({ nodes: { sub, a: agent }, edges: ['start -> sub', 'start -> a'] });
    const first = new Simulation(planOf(graph, { subflows })).start();
    first.settle('start', 'go');
    first.settle('sf:sub|start', 'inside');
    first.settle('a', { fail: 'broken' });
    const cut = first.writes.findIndex(({ status }) => status === 'error') + 1;
    const again = new Simulation(first.run.plan, {}, first.rows(cut)).start();
    expect(again.handedOut).toEqual([]);
    expect(again.result).toEqual(first.result);
    expect(again.writes.map((row) => [row.nodeId, row.status])).toEqual([
      ['sub', 'cancelled'],
      ['sf:sub|x', 'cancelled'],
    ]);
  });

  it('starts nodes in their original order', () => {
    const graph = graphOf({ nodes: { one: sub, two: sub }, edges: ['start -> one', 'start -> two'] });
    const first = new Simulation(planOf(graph, { subflows })).start();
    first.settle('start', 'go');
    first.settle('sf:two|start', 'done');
    first.settle('sf:one|start', 'done');
    expect(revived(first).handedOut).toEqual(['sf:two|x', 'sf:one|x']);
  });

  const loop = { type: 'whileLoop', conditionPrompt: 'more?', maxIterations: 3, includePreviousOutputs: false };
  const looping = graphOf({
    nodes: { loop, a: agent, b: agent, after: agent },
    edges: ['start -> loop', 'loop:body -> a', 'a -> b', 'loop:done -> after'],
  });

  it('continues a loop in its current iteration and repeats no decision', () => {
    const world: World = { decide: () => true };
    const first = new Simulation(planOf(looping), world).start();
    while (!first.working.includes('b') || first.rows().every((row) => row.iteration[0] !== 2)) first.step();
    const again = revived(first, world);
    expect(again.atWork.map(({ run }) => keyOf(run))).toEqual(['b#2']);
    again.finish();
    expect(again.of('decide').map(({ iteration }) => iteration)).toEqual([3]);
    expect(again.of('iterate').map(({ iteration }) => iteration)).toEqual([3]);
    expect(again.result).toEqual(first.finish().result);
  });

  it('requests the pending decision of a loop again', () => {
    const first = new Simulation(planOf(looping)).start();
    first.settle('start', 'go');
    expect(revived(first).of('decide')).toMatchObject([{ iteration: 1, current: 'go', outputs: [] }]);
  });

  it('requests no decision for a loop that had ended', () => {
    const first = new Simulation(planOf(looping)).start();
    while (!first.working.includes('after')) first.step();
    expect(revived(first).handedOut).toEqual(['after']);
    expect(revived(first).of('decide')).toEqual([]);
  });

  it('repeats its final commands', () => {
    const first = new Simulation(planOf(looping), { decide: () => true }).start().finish();
    const again = revived(first);
    expect(again.commands).toEqual([{ type: 'end', result: first.result }]);
  });

  it('does not run a finished subflow again', () => {
    const graph = graphOf({ nodes: { sub, after: agent }, edges: ['start -> sub', 'sub -> after'] });
    const first = new Simulation(planOf(graph, { subflows })).start();
    while (!first.working.includes('after')) first.step();
    expect(revived(first).commands).toMatchObject([{ type: 'run', isNew: false, run: { nodeId: 'after' } }]);
  });

  it('restores the items of a map and continues with the open ones', () => {
    const world: World = { list: () => ['p', 'q'] };
    const graph = graphOf({ nodes: { map: { type: 'map' }, a: agent }, edges: ['start -> map', 'map:body -> a'] });
    const first = new Simulation(planOf(graph), world).start();
    first.step();
    first.step();
    first.settle('a', 'P', [1]);
    const again = revived(first, world);
    expect(again.of('list')).toHaveLength(1);
    again.step();
    expect(again.atWork.map(({ run }) => keyOf(run))).toEqual(['a#2']);
    expect(again.finish().row('map').output).toBe('["P","a(q)"]');
  });
});
