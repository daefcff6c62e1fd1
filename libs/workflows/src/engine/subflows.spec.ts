import { describe, expect, it } from '@jest/globals';

import { graphOf, type Sketch } from '../../../../test/harness/workflow-graphs.js';
import { keyOf, simulate, type World } from '../../../../test/harness/workflow-simulator.js';

const agent = { type: 'agent' };
const mapped = { inputMappings: { input: '{{input}}' } };
const child = graphOf({ nodes: { x: agent, y: agent }, edges: ['start -> x', 'x -> y'], meta: { name: 'child' } });

function simulateWith(subflow: object, more: { inside?: Sketch; edges?: readonly string[]; world?: World } = {}) {
  const graph = graphOf({
    nodes: { before: agent, sub: { type: 'subflow', subflowId: 'c', ...subflow }, after: agent, rescue: agent },
    edges: ['start -> before', 'before -> sub', 'sub -> after', ...(more.edges ?? [])],
  });
  const subflows = new Map([['c', more.inside === undefined ? child : graphOf(more.inside)]]);
  return simulate(graph, more.world, { subflows });
}

describe('a subflow', () => {
  it('runs the other workflow, whose nodes are reported below its own', () => {
    const simulated = simulateWith(mapped);
    expect(simulated.rows().map(keyOf)).toEqual([
      'start',
      'before',
      'sub',
      'sf:sub|start',
      'sf:sub|x',
      'sf:sub|y',
      'after',
    ]);
    expect(simulated.row('sf:sub|y').path).toEqual(['sub']);
    expect(simulated.result?.executionOrder).toEqual(['start', 'before', 'sub', 'after']);
  });

  it('returns the final output of the other workflow', () => {
    const simulated = simulateWith(mapped, { world: { work: ({ nodeId }) => nodeId } });
    expect(simulated.row('sub')).toMatchObject({ status: 'completed', output: 'sf:sub|y', handles: ['output'] });
    expect(simulated.row('after').input).toBe('sf:sub|y');
  });

  it('reports nodes of a nested subflow below both subflows', () => {
    const outer = graphOf({ nodes: { b: { type: 'subflow', subflowId: 'c', ...mapped } }, edges: ['start -> b'] });
    const graph = graphOf({ nodes: { a: { type: 'subflow', subflowId: 'o', ...mapped } }, edges: ['start -> a'] });
    const subflows = new Map([
      ['o', outer],
      ['c', child],
    ]);
    const simulated = simulate(graph, {}, { subflows });
    expect(simulated.row('sf:a|sf:b|x').path).toEqual(['a', 'sf:a|b']);
  });

  it('reads no output of the parent workflow except its inputs, and has its own conversation', () => {
    const simulated = simulateWith(mapped, { world: { work: ({ nodeId }) => nodeId } });
    const view = simulated.views.get('sf:sub|x');
    expect(view?.workflowName).toBe('child');
    expect([...(view?.inputs ?? [])]).toEqual([['input', 'before']]);
    expect([...(view?.outputs.keys() ?? [])]).toEqual(['start', 'x', 'y']);
    expect(view?.session[0]).toEqual({ role: 'user', content: 'before' });
    expect(simulated.result?.sessionMessages.map(({ content }) => content)).toEqual(['hello', 'before', 'after']);
  });

  it.each([
    [true, 's1'],
    [false, 's1/@sub'],
  ])('shares the id of the session: %s', (shareSession, sessionId) => {
    const simulated = simulateWith({ ...mapped, shareSession });
    expect(simulated.views.get('sf:sub|x')?.sessionId).toBe(sessionId);
  });

  it.each([
    {
      rule: 'the first declared input as text',
      inputs: [{ id: 'n' }, { id: 'm' }],
      inputMappings: { n: { from: '{{outputs.before}}' }, m: 2 },
      values: { n: { from: 'before' }, m: 2 },
      text: '{"from":"before"}',
    },
    {
      rule: 'a default where no mapping is',
      inputs: [{ id: 'n', default: 7, required: true }],
      inputMappings: {},
      values: { n: 7 },
      text: '7',
    },
    {
      rule: 'the input of the node where none is declared',
      inputs: [],
      inputMappings: { other: 'x' },
      values: {},
      text: 'before',
    },
    {
      rule: 'the input of the node where the first has no value',
      inputs: [{ id: 'n' }, { id: 'm' }],
      inputMappings: { m: 'M' },
      values: { m: 'M' },
      text: 'before',
    },
  ])('reads $rule', ({ inputs, inputMappings, values, text }) => {
    const inside = { nodes: { x: agent }, edges: ['start -> x'], meta: { subflow: { inputs, outputs: [] } } };
    const simulated = simulateWith({ inputMappings }, { inside, world: { work: ({ nodeId }) => nodeId } });
    expect(Object.fromEntries(simulated.views.get('sf:sub|x')?.inputs ?? [])).toEqual(values);
    expect(simulated.row('sf:sub|start').input).toBe(text);
  });

  it('fails without inputs that are required', () => {
    const inputs = ['a', 'b', 'c'].map((id) => ({ id, required: id !== 'c' }));
    const inside = { nodes: { x: agent }, edges: ['start -> x'], meta: { subflow: { inputs, outputs: [] } } };
    const { result } = simulateWith({}, { inside, edges: ['sub:error -> rescue'] });
    expect(result?.error).toMatchObject({ message: 'Missing required inputs for subflow "c": a, b', nodeId: 'sub' });
  });

  it('fails deeper than ten', () => {
    const itself = graphOf({ nodes: { s: { type: 'subflow', subflowId: 'c', ...mapped } }, edges: ['start -> s'] });
    const simulated = simulate(itself, {}, { subflows: new Map([['c', itself]]) });
    expect(simulated.result?.error?.message).toBe('Maximum subflow depth (10) exceeded. Check for recursive subflows.');
    expect(simulated.rows().filter(({ type }) => type === 'start')).toHaveLength(11);
  });

  it('fails when the workflow does not exist', () => {
    expect(simulateWith({ subflowId: 'gone' }).result?.error?.message).toBe('Subflow "gone" not found');
  });

  const world: World = { work: ({ nodeId }) => (nodeId === 'sf:sub|x' ? { fail: 'broken' } : nodeId) };

  it('fails when a node in it fails', () => {
    const simulated = simulateWith(mapped, { world });
    expect(simulated.result?.error).toMatchObject({ message: 'broken', nodeId: 'sub', nodeType: 'subflow' });
    expect(simulated.row('sf:sub|y').status).toBe('skipped');
  });

  it('takes its error edge when a node in it fails', () => {
    const simulated = simulateWith(mapped, { world, edges: ['sub:error -> rescue'] });
    expect(simulated.row('rescue').input).toBe('Subflow error: broken');
    expect(simulated.result).toMatchObject({
      status: 'completed',
      executionOrder: ['start', 'before', 'sub', 'rescue'],
    });
  });

  it('cancels all its inner node runs when a sibling fails', () => {
    const graph = graphOf({
      nodes: { a: agent, sub: { type: 'subflow', subflowId: 'c', ...mapped } },
      edges: ['start -> a', 'start -> sub'],
    });
    const simulated = simulate(
      graph,
      { work: ({ nodeId }) => (nodeId === 'a' ? { fail: 'broken' } : 'ok'), pick: (count) => count - 1 },
      { subflows: new Map([['c', graphOf({ nodes: { x: agent }, edges: ['start -> x'] })]]) },
    );
    expect(simulated.row('sub').status).toBe('completed');
    const early = simulate(
      graph,
      { work: ({ nodeId }) => (nodeId === 'a' ? { fail: 'broken' } : 'ok') },
      { subflows: new Map([['c', child]]) },
    );
    expect(['sub', 'sf:sub|start'].map((nodeId) => early.row(nodeId).status)).toEqual(['cancelled', 'cancelled']);
    expect(early.of('cancel')).toEqual([{ type: 'cancel', keys: [{ nodeId: 'sf:sub|start', iteration: [] }] }]);
  });
});
