import { describe, expect, it } from '@jest/globals';

import { around, type NodeSketch, workflowDocument } from '../../../../test/harness/workflow-document.js';
import { reachableFrom } from './loop-bodies.js';
import { topologicalOrder } from './topological-order.js';
import { findCycle } from './validation/check-structure.js';
import { validateWorkflow, type Validation } from './validation/validate.js';

const agents = (count: number): Record<string, NodeSketch> =>
  Object.fromEntries(Array.from({ length: count }, (_, i) => [`n${i}`, i === 0 ? 'start' : 'agent']));
const nested = (depth: number): unknown => JSON.parse(`${'{"a":'.repeat(depth)}1${'}'.repeat(depth)}`);
const chain = (count: number): string[] => Array.from({ length: count - 1 }, (_, i) => `n${i} > n${i + 1}`);
const times = <T>(count: number, make: (index: number) => T): T[] => Array.from({ length: count }, (_, i) => make(i));

/** Every definition uses twenty others that no other definition uses, eight levels deep. */
const branching = (id: string): unknown => {
  const ids = id.split('/').length < 8 ? times(20, (i) => `${id}/${i}`) : [];
  const nodes: Record<string, NodeSketch> = { s: 'start' };
  for (const subflowId of ids) nodes[subflowId] = ['subflow', { subflowId }];
  const meta = { subflow: { inputs: [], outputs: [] } };
  return workflowDocument(
    nodes,
    ids.map((child) => `s > ${child}`),
    meta,
  );
};

const strict = { strict: true, subflows: (): unknown => undefined };
const codes = ({ errors }: Validation): string[] => [...new Set(errors.map(({ code }) => code))];

describe('a hostile definition', () => {
  // Each is answered in a moment; none asserts a time, a slow rule would meet the time-out of the test.
  it.each<[string, unknown, string]>([
    ['a circle of all nodes', workflowDocument(agents(500), [...chain(500), 'n499 > n1']), 'CYCLE_DETECTED'],
    ['a circle of one', around('agent', ['n > n']), 'CYCLE_DETECTED'],
    ['ten thousand nodes', workflowDocument(agents(10_000), chain(10_000)), 'LIMIT_EXCEEDED'],
    [
      'three thousand edges',
      workflowDocument(
        agents(3),
        times(3_000, () => 'n0 > n1'),
      ),
      'LIMIT_EXCEEDED',
    ],
    ['a giant template', around(['output', { template: '{{a}}'.repeat(300_000) }]), 'LIMIT_EXCEEDED'],
    ['a million brackets', JSON.parse(`${'['.repeat(1_000_000)}${']'.repeat(1_000_000)}`), 'LIMIT_EXCEEDED'],
    ['deep arguments', around(['tool', { config: nested(100) }]), 'LIMIT_EXCEEDED'],
    [
      'a pattern that backtracks',
      around(['transform', { expression: 'text.matches("(a+)+$")' }]),
      'DATA_VALIDATION_ERROR',
    ],
    [
      'expressions that take too long to compile together',
      workflowDocument(
        Object.fromEntries(
          times(400, (i) => [
            `n${i}`,
            i === 0 ? 'start' : ['transform', { expression: `text.matchesRe2("(a|b${i}){200}")` }],
          ]),
        ),
        chain(400),
      ),
      'DATA_VALIDATION_ERROR',
    ],
    [
      'schemas whose patterns take too long to compile together',
      workflowDocument(
        Object.fromEntries(
          times(400, (i) => [`n${i}`, i === 0 ? 'start' : ['input', { schema: { pattern: `(a|b${i}){200}` } }]]),
        ),
        chain(400),
      ),
      'DATA_VALIDATION_ERROR',
    ],
    [
      'a pattern built while it runs',
      around(['transform', { expression: 'text.matchesRe2(text)' }]),
      'DATA_VALIDATION_ERROR',
    ],
    [
      'an expression of brackets',
      around(['transform', { expression: `${'('.repeat(999)}1${')'.repeat(999)}` }]),
      'DATA_VALIDATION_ERROR',
    ],
    ['an expression of terms', around(['map', { items: `[1]${' + [1]'.repeat(300)}` }]), 'DATA_VALIDATION_ERROR'],
    [
      'an expression that reads the process',
      around(['transform', { expression: 'process.env' }]),
      'DATA_VALIDATION_ERROR',
    ],
    [
      'a schema with a pattern that backtracks',
      around(['schemaValidation', { spec: { pattern: '(?=a)(a+)+$' } }]),
      'DATA_VALIDATION_ERROR',
    ],
    [
      'a schema from somewhere else',
      around(['input', { schema: { $ref: 'http://127.0.0.1/x' } }]),
      'DATA_VALIDATION_ERROR',
    ],
    [
      'a subflow of itself',
      { ...around(['subflow', { subflowId: 'me' }]), meta: { version: '2.0.0', name: 'x', id: 'me' } },
      'CYCLE_DETECTED',
    ],
    [
      'one id for all nodes',
      {
        ...workflowDocument(agents(1), []),
        nodes: times(500, () => ({ id: 'x', type: 'start', position: { x: 0, y: 0 }, data: {} })),
      },
      'DUPLICATE_NODE_ID',
    ],
    [
      'an id like those of subflows',
      workflowDocument({ s: 'start', 'sf:a|b': 'agent' }, ['s > sf:a|b']),
      'DATA_VALIDATION_ERROR',
    ],
    ['a billion iterations', around(['whileLoop', { maxIterations: 1e9 }]), 'INVALID_MAX_ITERATIONS'],
    [
      'fifty thousand branches',
      around(['parallel', { branches: times(50_000, () => ({ id: 'x' })) }]),
      'LIMIT_EXCEEDED',
    ],
    ['a hundred thousand wrong entries', around(['agent', { tools: times(99_000, () => 1) }]), 'DATA_VALIDATION_ERROR'],
    [
      'edges between nodes that are not there',
      workflowDocument(
        agents(1),
        times(2_000, (i) => `a${i} > b${i}`),
      ),
      'DANGLING_EDGE',
    ],
    [
      'names of what objects inherit',
      JSON.parse(
        '{"meta":{"version":"2.0.0","name":"x","__proto__":{"tools":["*"]}},"nodes":[{"id":"__proto__","type":"__proto__","position":{"x":0,"y":0},"data":{"__proto__":{"model":"x"}}}],"edges":[{"id":"e","source":"__proto__","target":"constructor"}]}',
      ),
      'UNKNOWN_NODE_TYPE',
    ],
    ['a text', 'workflow', 'DATA_VALIDATION_ERROR'],
  ])('causes a clear error: %s', (_fact, json, code) => {
    const validation = validateWorkflow(json, strict);
    expect(validation.isValid).toBe(false);
    expect(codes(validation)).toContain(code);
    expect(validation.errors.length).toBeLessThanOrEqual(500);
    for (const { message } of validation.errors) expect(message.length).toBeLessThan(20_000);
    expect(Object.hasOwn(Object.prototype, 'tools')).toBe(false);
  });

  it('fails validation when its subflows branch without end', () => {
    const validation = validateWorkflow(around(['subflow', { subflowId: 'x' }]), { strict: true, subflows: branching });
    expect(codes(validation)).toContain('LIMIT_EXCEEDED');
  });

  it.each<[string, unknown]>([
    [
      'as many ways as there are atoms',
      workflowDocument(
        agents(499),
        times(166, (i) => [
          `n${3 * i} > n${3 * i + 1}`,
          `n${3 * i} > n${3 * i + 2}`,
          `n${3 * i + 1} > n${3 * i + 3}`,
          `n${3 * i + 2} > n${3 * i + 3}`,
        ]).flat(),
      ),
    ],
    [
      'loops in loops in loops',
      workflowDocument(
        Object.fromEntries(times(200, (i) => [`n${i}`, i === 0 ? 'start' : i === 199 ? 'agent' : 'whileLoop'])),
        ['n0 > n1', ...times(198, (i) => `n${i + 1}:body > n${i + 2}`)],
      ),
    ],
    ['a template of braces', around(['output', { useRawTemplate: true, template: '{'.repeat(500_000) }])],
    [
      'five hundred schemas',
      workflowDocument(
        Object.fromEntries(
          times(500, (i) => [
            `n${i}`,
            i === 0
              ? 'start'
              : [
                  'schemaValidation',
                  {
                    spec: { title: `${i}`, type: 'object', properties: { a: { type: 'string', pattern: '^(a+)+$' } } },
                  },
                ],
          ]),
        ),
        chain(500),
      ),
    ],
    [
      'five hundred expressions',
      workflowDocument(
        Object.fromEntries(
          times(500, (i) => [
            `n${i}`,
            i === 0 ? 'start' : ['transform', { expression: `input.l.map(a, input.l.map(b, ${i}))` }],
          ]),
        ),
        chain(500),
      ),
    ],
  ])('passes validation when it is strange but valid: %s', (_fact, json) => {
    expect(validateWorkflow(json, strict).errors).toEqual([]);
  });
});

describe('the search in a graph', () => {
  const ids = times(10_000, (i) => `n${i}`);
  const circle = ids.map((source, i) => ({ source, target: ids[(i + 1) % ids.length] ?? '' }));

  it('needs no recursion', () => {
    expect(topologicalOrder(ids, circle.slice(0, -1))).toEqual(ids);
    expect(findCycle(ids, circle, new Set(topologicalOrder(ids, circle)))).toEqual(ids);
    const outgoing = new Map(circle.map(({ source, target }) => [source, [{ target }]]));
    expect(reachableFrom(['n5'], outgoing).size).toBe(ids.length);
  });

  it('shows the cycle and not the nodes after it', () => {
    const links = ['a b', 'b c', 'c a', 'c d', 'd e', 'x a'].map((text) => {
      const [source = '', target = ''] = text.split(' ');
      return { source, target };
    });
    const all = ['x', 'e', 'd', 'c', 'b', 'a'];
    expect(findCycle(all, links, new Set(topologicalOrder(all, links)))).toEqual(['c', 'a', 'b']);
  });
});
