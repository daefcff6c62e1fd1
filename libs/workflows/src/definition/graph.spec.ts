import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';

import { type NodeSketch, workflowDocument } from '../../../../test/harness/workflow-document.js';
import { parseDocument } from './document.js';
import { edgesOf, edgesOnward, routesOf } from './edge-lookup.js';
import { toGraph, type WorkflowGraph } from './graph.js';

function graphOf(nodes: Record<string, NodeSketch>, edges: readonly string[], meta = {}): WorkflowGraph {
  const parsed = parseDocument(workflowDocument(nodes, edges, meta));
  if (!parsed.ok) throw new Error(JSON.stringify(parsed.faults));
  return toGraph(parsed.document);
}

const targets = (edges: readonly { target: string }[]): string[] => edges.map(({ target }) => target);
const sources = (edges: readonly { source: string }[] | undefined): string[] =>
  (edges ?? []).map(({ source }) => source);

describe('a graph', () => {
  it('lists nodes and edges in the order of the document', () => {
    const graph = graphOf({ o: 'output', b: 'agent', s: 'start', a: 'agent' }, ['s > b', 'a > o', 's > a', 'b > o']);
    expect([...graph.nodes.keys()]).toEqual(['o', 'b', 's', 'a']);
    expect(graph.start).toBe('s');
    expect(targets(graph.outgoing.get('s') ?? [])).toEqual(['b', 'a']);
    expect(sources(graph.incoming.get('o'))).toEqual(['a', 'b']);
    expect(graph.edges.map(({ index }) => index)).toEqual([0, 1, 2, 3]);
    expect([...graph.leaves]).toEqual(['o']);
  });

  it('copies the run settings of the document', () => {
    const meta = {
      tools: ['*'],
      compat: { routerEcho: true },
      execution: { stopPolicy: { maxSteps: 5 } },
      subflow: { inputs: [{ id: 'topic', required: true }], outputs: [] },
    };
    expect(graphOf({ s: 'start' }, [], meta)).toMatchObject({
      name: 'Sketch',
      tools: ['*'],
      routerEcho: true,
      stopPolicy: { maxSteps: 5 },
      inputs: [{ id: 'topic', type: 'any', required: true }],
      outputs: [],
    });
  });

  it('declares one input and one output when the document declares no ports', () => {
    const { inputs, outputs, tools, routerEcho, stopPolicy } = graphOf({ s: 'start' }, []);
    expect({ inputs, outputs, tools, routerEcho, stopPolicy }).toEqual({
      inputs: [{ id: 'input', name: 'Input', type: 'any', required: true }],
      outputs: [{ id: 'output', name: 'Output', type: 'any' }],
      tools: [],
      routerEcho: false,
      stopPolicy: {},
    });
  });

  it('fills in defaults, and reads invalid fields as absent', () => {
    const graph = graphOf({ s: 'start', a: ['agent', { label: 3, tools: ['x', 1], temperature: 'hot' }] }, ['s > a']);
    expect(graph.nodes.get('a')).toMatchObject({
      type: 'agent',
      label: 'a',
      description: null,
      data: {
        tools: ['x'],
        maxToolIterations: 10,
        onMaxToolIterations: 'warning',
        errorHandling: { mode: 'stop', retry: { maxRetries: 2, baseDelay: 1_000, maxDelay: 30_000 } },
      },
    });
  });

  it('accepts the other names of types and fields', () => {
    const graph = graphOf(
      {
        s: 'start',
        r: ['condition', { hitl: { enabled: true, message: 'Well?' } }],
        t: ['tool', { arguments: { a: 1 } }],
        m: ['memory', { topK: 9 }],
      },
      ['s > r', 'r > t', 't > m'],
    );
    expect(graph.nodes.get('r')).toMatchObject({
      type: 'router',
      data: { hitl: { prompt: 'Well?', mode: 'approval' } },
    });
    expect(graph.nodes.get('t')).toMatchObject({ data: { config: { a: 1 } } });
    expect(graph.nodes.get('m')).toMatchObject({ data: { limit: 9 } });
  });

  it.each<[string, Record<string, NodeSketch>]>([
    ['no start', { a: 'agent' }],
    ['two starts', { s: 'start', t: 'start' }],
    ['an unknown type', { s: 'start', a: 'teleport' }],
    ['a node without what it needs', { s: 'start', a: ['transform', { expression: undefined }] }],
  ])('rejects a document with %s', (_fact, nodes) => {
    expect(() => graphOf(nodes, [])).toThrow('This workflow cannot be run');
  });

  it('keeps a node named like an inherited member', () => {
    const graph = graphOf({ s: 'start', constructor: 'agent', toString: 'output' }, [
      's > constructor',
      'constructor > toString',
    ]);
    expect(targets(edgesOf(graph, 'constructor', 'output'))).toEqual(['toString']);
    expect(edgesOf(graph, 'valueOf', 'output')).toEqual([]);
  });
});

describe('the levels of a graph', () => {
  const nested = graphOf(
    { s: 'start', l: 'whileLoop', a: 'agent', m: 'map', b: 'agent', c: 'agent', d: 'agent', o: 'output' },
    ['s > l', 'l:body > a', 'a > m', 'm:body > b', 'b > c', 'b > d', 'm:done > c', 'l:done > o', 'c > o'],
  );

  it('assign every node to its innermost loop or map', () => {
    expect(Object.fromEntries(nested.owners)).toEqual({ a: 'l', m: 'l', c: 'l', b: 'm', d: 'm' });
    expect(nested.bodies.get('l')).toMatchObject({ nodeIds: ['a', 'm', 'c'], leaves: ['c'] });
    expect(nested.bodies.get('m')).toMatchObject({ nodeIds: ['b', 'd'], leaves: ['d'] });
    expect(nested.bodies.get('m')?.entries).toMatchObject([{ source: 'm', target: 'b', handle: 'body' }]);
  });

  it('let a node wait only for nodes of its level, and for its loop', () => {
    expect(sources(nested.incoming.get('a'))).toEqual(['l']);
    expect(sources(nested.incoming.get('b'))).toEqual(['m']);
    expect(sources(nested.incoming.get('c'))).toEqual(['m']);
    expect(sources(nested.incoming.get('o'))).toEqual(['l']);
  });

  it('keep the edges that leave a body, where an iteration ends', () => {
    expect(targets(edgesOf(nested, 'c', 'output'))).toEqual(['o']);
    expect([...nested.leaves]).toEqual(['o']);
  });

  it('place the successors of a loop after it, not in its body', () => {
    const graph = graphOf({ s: 'start', l: 'whileLoop', a: 'agent', b: 'agent' }, [
      's > l',
      'l:body > a',
      'a > b',
      'l > b',
    ]);
    expect([...graph.owners]).toEqual([['a', 'l']]);
  });

  it('contain forks and joins in a body', () => {
    const graph = graphOf({ s: 'start', l: 'whileLoop', a: 'agent', b: 'agent', c: 'agent', j: 'agent' }, [
      's > l',
      'l:body > a',
      'l:body > b',
      'a > j',
      'b > j',
      'l:body > j',
      'l:body > c',
    ]);
    expect(graph.bodies.get('l')).toMatchObject({ nodeIds: ['a', 'b', 'c', 'j'], leaves: ['c', 'j'] });
    expect(sources(graph.incoming.get('j'))).toEqual(['a', 'b', 'l']);
  });
});

describe('the edges of a handle', () => {
  const from = (type: NodeSketch, ...handles: string[]): WorkflowGraph =>
    graphOf({ s: 'start', n: type, ...Object.fromEntries(handles.map((_, index) => [`t${index}`, 'agent'])) }, [
      's > n',
      ...handles.map((handle, index) => `n${handle} > t${index}`),
    ]);
  const taken = (graph: WorkflowGraph, handle: string): string[] => targets(edgesOf(graph, 'n', handle));

  it.each<[string, [NodeSketch, string[], string], string[]]>([
    ['are those of that handle and those without one', ['agent', [':output', '', ':error'], 'output'], ['t0', 't1']],
    ['match exactly: error', ['agent', ['', ':error'], 'error'], ['t1']],
    ['match exactly: rejected', ['agent', ['', ':rejected'], 'rejected'], ['t1']],
    ['match exactly: timeout', ['approval', ['', ':timeout'], 'timeout'], ['t1']],
    ['match exactly on a parallel node: merged', ['parallel', ['', ':merged', ':left'], 'merged'], ['t1']],
    ['match exactly on a parallel node: a branch', ['parallel', ['', ':merged', ':left'], 'left'], ['t2']],
    ['without one mean done on a loop', ['whileLoop', ['', ':body', ':done'], 'done'], ['t0', 't2']],
    ['without one are not the body of a loop', ['whileLoop', ['', ':body', ':done'], 'body'], ['t1']],
    ['without one mean done on a map', ['map', ['', ':body'], 'done'], ['t0']],
    ['without one go with invalid too', ['schemaValidation', ['', ':invalid', ':output'], 'invalid'], ['t0', 't1']],
    ['are one edge for the route of a router', ['router', [':x', ':x', ''], 'x'], ['t0']],
    ['are found by the number of an unnamed route', ['router', [':x', ':error', ''], 'route-1'], ['t2']],
    ['are none for a route that is not there', ['router', [':x', ''], 'output'], []],
  ])('%s', (_fact, [type, handles, handle], expected) => {
    expect(taken(from(type, ...handles), handle)).toEqual(expected);
  });

  it('include all edges of a start except its error edge', () => {
    const graph = graphOf({ s: 'start', a: 'agent', b: 'agent', c: 'agent' }, ['s:x > a', 's > b', 's:error > c']);
    expect(targets(edgesOf(graph, 's', 'output'))).toEqual(['a', 'b']);
  });

  it('without a handle are taken for every handle except error, rejected and timeout', () => {
    expect(targets(edgesOnward(from('agent', '', ':output', ':error', ':rejected', ':timeout'), 'n'))).toEqual([
      't0',
      't1',
    ]);
  });
});

describe('the routes of a router', () => {
  it('take the names of their targets, of their edges, or a number', () => {
    const json = workflowDocument(
      {
        s: 'start',
        r: 'router',
        a: ['agent', { label: 'Sales', description: 'buys' }],
        b: ['agent', { label: undefined }],
        c: ['agent', { label: undefined }],
      },
      ['s > r', 'r:error > a', 'r:x > a', 'r > b', 'r > c'],
    );
    const edges = json.edges.map((edge, index) => (index === 3 ? { ...edge, label: 'Help' } : edge));
    const parsed = parseDocument({ ...json, edges });
    if (!parsed.ok) throw new Error('not a document');
    expect(routesOf(toGraph(parsed.document), 'r').map(({ id, name, description }) => [id, name, description])).toEqual(
      [
        ['x', 'Sales', 'buys'],
        ['route-1', 'Help', null],
        ['route-2', 'Route 3', null],
      ],
    );
  });
});

describe('any graph', () => {
  it('lists each edge at most once per end, and each node on one level', () => {
    const edge = fc.tuple(fc.nat(11), fc.nat(11), fc.constantFrom('', ':body', ':done')).filter(([a, b]) => a < b);
    const types = fc.array(fc.constantFrom('agent', 'whileLoop', 'map'), { minLength: 11, maxLength: 11 });
    fc.assert(
      fc.property(types, fc.array(edge, { maxLength: 40 }), (kinds, pairs) => {
        const nodes = Object.fromEntries(['start', ...kinds].map((type, index) => [`n${index}`, type]));
        const graph = graphOf(
          nodes,
          pairs.map(([a, b, handle]) => `n${a}${handle} > n${b}`),
        );
        const levels = [...graph.bodies.values()].flatMap(({ nodeIds }) => nodeIds);
        expect(new Set(levels).size).toBe(levels.length);
        expect(levels.toSorted()).toEqual([...graph.owners.keys()].toSorted());
        expect([...graph.outgoing.values()].flat()).toHaveLength(pairs.length);
        for (const [id, edges] of graph.incoming)
          for (const { source, handle } of edges)
            expect(
              handle === 'body' && graph.owners.get(id) === source ? graph.owners.get(id) : graph.owners.get(source),
            ).toBe(graph.owners.get(id));
        for (const [loop, { nodeIds, leaves }] of graph.bodies) {
          expect(leaves.length > 0).toBe(nodeIds.length > 0);
          expect(nodeIds).not.toContain(loop);
        }
      }),
    );
  });
});
