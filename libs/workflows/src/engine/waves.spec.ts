import { describe, expect, it } from '@jest/globals';

import { graphOf } from '../../../../test/harness/workflow-graphs.js';
import { planOf, simulate, Simulation } from '../../../../test/harness/workflow-simulator.js';

const agent = { type: 'agent' };

describe('a finished node', () => {
  it.each([
    { those: 'of its handle', edges: ['a:output -> x', 'a:other -> y'], handles: ['output'], expected: ['x'] },
    { those: 'without a handle', edges: ['a -> x', 'a:other -> y'], handles: ['output'], expected: ['x'] },
    { those: 'of error exactly', edges: ['a -> x', 'a:error -> y'], handles: ['error'], expected: ['y'] },
    { those: 'of rejected exactly', edges: ['a -> x', 'a:rejected -> y'], handles: ['rejected'], expected: ['y'] },
    { those: 'of no handle at all', edges: ['a -> x', 'a:error -> y'], handles: [], expected: [] },
  ])('takes the edges $those', ({ edges, handles, expected }) => {
    const graph = graphOf({ nodes: { a: agent, x: agent, y: agent }, edges: ['start -> a', ...edges] });
    const simulated = simulate(graph, { work: ({ nodeId }) => (nodeId === 'a' ? { output: 'A', handles } : nodeId) });
    expect(simulated.result?.executionOrder).toEqual(['start', 'a', ...expected]);
  });

  it('takes only exactly matching edges if it is parallel', () => {
    const nodes = { p: { type: 'parallel', branches: [{ id: 'b1' }] }, x: agent, y: agent, z: agent };
    const graph = graphOf({ nodes, edges: ['start -> p', 'p -> x', 'p:merged -> y', 'p:b1 -> z'] });
    const simulated = simulate(graph, {
      work: ({ type }) => (type === 'parallel' ? { output: 'P', handles: ['merged'] } : 'done'),
    });
    expect(simulated.result?.executionOrder).toEqual(['start', 'p', 'y']);
  });

  it('takes all edges except its error edge if it is a start', () => {
    const graph = graphOf({
      nodes: { x: agent, y: agent, z: agent },
      edges: ['start -> x', 'start:other -> y', 'start:error -> z'],
    });
    expect(simulate(graph).result?.executionOrder).toEqual(['start', 'x', 'y']);
  });

  it('takes only the edge of the chosen route', () => {
    const nodes = { r: { type: 'router' }, x: agent, y: agent };
    const graph = graphOf({ nodes, edges: ['start -> r', 'r -> x', 'r -> y'] });
    const simulated = simulate(graph, {
      work: ({ type, input }) => (type === 'router' ? { output: input, handles: ['route-1'] } : 'done'),
    });
    expect(simulated.result?.executionOrder).toEqual(['start', 'r', 'y']);
    expect(simulated.row('x').status).toBe('skipped');
  });
});

describe('a run in waves', () => {
  const fork = graphOf({
    nodes: { a: agent, b: agent, c: agent, join: agent },
    edges: ['start -> a', 'start -> b', 'b -> c', 'c -> join', 'a -> join'],
  });

  it('starts a wave when the wave before it is settled', () => {
    const simulated = new Simulation(planOf(fork)).start();
    simulated.settle('start', 'go');
    expect(simulated.working).toEqual(['a', 'b']);
    simulated.settle('b', 'B');
    expect(simulated.working).toEqual(['a']);
    simulated.settle('a', 'A');
    expect(simulated.working).toEqual(['c']);
  });

  it('orders the nodes of a wave by the time at which they were first reached', () => {
    // `late` is reached by `a` in the second wave already, and has to wait for `c`.
    const graph = graphOf({
      nodes: { a: agent, b: agent, c: agent, late: agent, next: agent },
      edges: ['start -> b', 'start -> a', 'b -> c', 'c -> next', 'c -> late', 'a -> late'],
    });
    expect(simulate(graph).result?.executionOrder).toEqual(['start', 'b', 'a', 'c', 'late', 'next']);
  });

  it('joins the texts of several parents in the order of the edges, for any order of ending', () => {
    for (const order of [
      ['a', 'b'],
      ['b', 'a'],
    ]) {
      const simulated = new Simulation(planOf(fork)).start();
      simulated.settle('start', 'go');
      for (const nodeId of order) simulated.settle(nodeId, nodeId.toUpperCase());
      simulated.settle('c', 'C');
      expect(simulated.row('join').input).toBe('C\n\nA');
    }
  });

  it('omits empty texts in a join', () => {
    const simulated = simulate(fork, { work: ({ nodeId, input }) => (nodeId === 'c' ? '' : `${nodeId}(${input})`) });
    expect(simulated.row('join').input).toBe('a(start(hello))');
  });

  it('reads a parent once that has two edges to a node', () => {
    const nodes = { p: { type: 'parallel', branches: [{ id: 'b1' }, { id: 'b2' }] }, x: agent };
    const graph = graphOf({ nodes, edges: ['start -> p', 'p:b1 -> x', 'p:b2 -> x'] });
    const simulated = simulate(graph, {
      work: ({ type }) => (type === 'parallel' ? { output: 'P', handles: ['b1', 'b2'] } : 'done'),
    });
    expect(simulated.row('x').input).toBe('P');
  });

  it('runs a join when one edge to it was taken', () => {
    const nodes = { r: { type: 'router' }, x: agent, y: agent, join: agent };
    const graph = graphOf({ nodes, edges: ['start -> r', 'r:x -> x', 'r:y -> y', 'x -> join', 'y -> join'] });
    const simulated = simulate(graph, {
      work: ({ type, nodeId, input }) =>
        type === 'router' ? { output: input, handles: ['x'], handOn: 'input' } : nodeId,
    });
    expect(simulated.result?.executionOrder).toEqual(['start', 'r', 'x', 'join']);
    expect(simulated.row('join').input).toBe('x');
  });

  it('skips nodes that depend only on skipped nodes', () => {
    const nodes = { r: { type: 'router' }, x: agent, y: agent, z: agent };
    const graph = graphOf({ nodes, edges: ['start -> r', 'r:x -> x', 'r:y -> y', 'y -> z'] });
    const simulated = simulate(graph, { work: ({ type }) => (type === 'router' ? { handles: ['x'] } : 'done') });
    expect(['y', 'z'].map((nodeId) => simulated.row(nodeId).status)).toEqual(['skipped', 'skipped']);
    expect(simulated.row('z')).toMatchObject({ output: null, handles: [] });
  });

  it.each([
    ['output' as const, 'A'],
    ['input' as const, 'hello'],
    ['nothing' as const, ''],
  ])('passes on the %s of a node', (handOn, expected) => {
    const graph = graphOf({ nodes: { a: agent, b: agent }, edges: ['start -> a', 'a -> b'] });
    const simulated = simulate(graph, {
      work: ({ nodeId, input }) => (nodeId === 'a' ? { output: 'A', handOn } : input),
    });
    expect(simulated.row('b').input).toBe(expected);
  });

  it('ends with the output of the last node in execution order', () => {
    const { result } = simulate(fork);
    expect(result).toMatchObject({
      status: 'completed',
      success: true,
      finalNodeId: 'join',
      lastActiveNodeId: 'join',
      executionOrder: ['start', 'a', 'b', 'c', 'join'],
      error: null,
    });
    expect(result?.finalOutput).toBe(result?.nodeOutputs['join']);
    expect(result?.output).toBe(result?.finalOutput);
  });

  it('fails when nodes wait for each other', () => {
    const graph = graphOf({ nodes: { a: agent, b: agent }, edges: ['start -> a', 'a -> b', 'b -> a'] });
    expect(simulate(graph).result?.error).toMatchObject({
      message: 'Workflow execution exceeded maximum iterations - check for cycles',
      nodeId: null,
    });
  });

  it('numbers node runs in the order in which they were begun', () => {
    const simulated = simulate(fork);
    expect(simulated.rows().map(({ ordinal, nodeId }) => [ordinal, nodeId])).toEqual([
      [1, 'start'],
      [2, 'a'],
      [3, 'b'],
      [4, 'c'],
      [5, 'join'],
    ]);
  });
});

describe('the view of a node', () => {
  const graph = graphOf({
    nodes: { a: agent, b: agent, c: { type: 'tool', toolId: 't' }, d: agent },
    edges: ['start -> a', 'start -> b', 'a -> c', 'b -> c', 'c -> d'],
  });

  it('contains only the outputs of earlier waves', () => {
    const seen = new Map<string, readonly string[]>();
    simulate(graph, {
      work: ({ nodeId }, { earlier }) => {
        seen.set(
          nodeId,
          earlier.map((entry) => entry.nodeId),
        );
        return nodeId;
      },
    });
    expect([...seen]).toEqual([
      ['start', []],
      ['a', ['start']],
      ['b', ['start']],
      ['c', ['start', 'a', 'b']],
      ['d', ['start', 'a', 'b', 'c']],
    ]);
  });

  it('contains additional outputs under their own names', () => {
    let outputs: ReadonlyMap<string, string> = new Map();
    simulate(graph, {
      work: ({ nodeId }, view) => {
        if (nodeId === 'd') outputs = new Map(view.outputs);
        return { output: nodeId, extra: nodeId === 'a' ? { outputs: { 'a:x': 'branch' } } : {} };
      },
    });
    expect(Object.fromEntries(outputs)).toEqual({ start: 'start', a: 'a', 'a:x': 'branch', b: 'b', c: 'c' });
  });

  it('contains the texts of agents in execution order', () => {
    const history = [{ role: 'user', content: 'before' }] as const;
    for (const pick of [() => 0, (count: number) => count - 1]) {
      const { result } = simulate(graph, { work: ({ nodeId }) => nodeId, pick }, { history });
      expect(result?.sessionMessages.map(({ content }) => content)).toEqual(['before', 'hello', 'a', 'b', 'd']);
    }
  });

  it('contains the final output as the last message', () => {
    const short = graphOf({ nodes: { a: agent, out: { type: 'output' } }, edges: ['start -> a', 'a -> out'] });
    const { result } = simulate(short, { work: ({ nodeId }) => nodeId });
    expect(result?.sessionMessages.map(({ content }) => content)).toEqual(['hello', 'a', 'out']);
  });

  it('contains no message of a skipped agent', () => {
    const { result } = simulate(graph, {
      work: ({ nodeId }) => ({ output: nodeId, extra: nodeId === 'a' ? { note: 'HITL: Skipped' } : {} }),
    });
    expect(result?.sessionMessages.map(({ content }) => content)).toEqual(['hello', 'b', 'd']);
  });

  it('contains nodes with names of inherited members', () => {
    const odd = graphOf({
      nodes: { ['__proto__']: agent, constructor: agent },
      edges: ['start -> __proto__', '__proto__ -> constructor'],
    });
    const { result } = simulate(odd, { work: ({ nodeId }) => nodeId });
    expect(Object.entries(result?.nodeOutputs ?? {})).toContainEqual(['constructor', 'constructor']);
  });
});
