import { readdirSync, readFileSync } from 'node:fs';

import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';

import { toMermaid } from '../diagram/to-mermaid.js';
import { toSvg } from '../diagram/to-svg.js';
import { parseDocument } from './document.js';
import { toGraph, type WorkflowGraph } from './graph.js';
import { validateWorkflow } from './validation/validate.js';

const folder = 'examples/workflows';
const examples = new Map<string, unknown>(
  readdirSync(folder).map((file) => [file.replace('.json', ''), JSON.parse(readFileSync(`${folder}/${file}`, 'utf8'))]),
);

function graphOf(json: unknown): WorkflowGraph {
  const parsed = parseDocument(json);
  if (!parsed.ok) throw new Error('not a document');
  return toGraph(parsed.document);
}

describe('the examples', () => {
  it.each([...examples.keys()])('%s is valid and causes no warning', (name) => {
    const validation = validateWorkflow(examples.get(name), { strict: true, subflows: (id) => examples.get(id) });
    expect(validation).toEqual({ isValid: true, errors: [], warnings: [] });
  });

  it.each([...examples.keys()])('%s can be run and drawn', (name) => {
    const parsed = parseDocument(examples.get(name));
    if (!parsed.ok) throw new Error('not a document');
    expect(toGraph(parsed.document).nodes.size).toBe(parsed.document.nodes.length);
    expect(toMermaid(parsed.document)).toContain('flowchart TD');
    expect(toSvg(parsed.document)).toContain('</svg>');
  });

  it('show most types of nodes', () => {
    const used = [...examples.values()].flatMap((json) => {
      const parsed = parseDocument(json);
      return parsed.ok ? parsed.document.nodes.map(({ type }) => type) : [];
    });
    expect([...new Set(used)].toSorted()).toEqual([
      'agent',
      'approval',
      'http',
      'input',
      'map',
      'memory',
      'output',
      'parallel',
      'router',
      'start',
      'subflow',
      'transform',
      'wait',
      'whileLoop',
    ]);
  });
});

describe('unknown fields of a document', () => {
  const anything = fc.dictionary(fc.constantFrom('x-a', '__proto__', 'constructor', 'color', 'ü'), fc.jsonValue(), {
    maxKeys: 3,
  });

  it('change nothing else, and stay unchanged', () => {
    fc.assert(
      fc.property(
        fc.constantFrom(...examples.keys()),
        fc.array(anything, { minLength: 4, maxLength: 4 }),
        (name, more) => {
          const json: unknown = structuredClone(examples.get(name));
          const odd = withMore(json, more);
          const before = JSON.stringify(odd);
          expect(graphOf(odd)).toEqual(graphOf(json));
          expect(validateWorkflow(odd, { strict: true, subflows: (id) => examples.get(id) }).errors).toEqual([]);
          expect(JSON.stringify(odd)).toBe(before);
        },
      ),
    );
  });
});

/** The same document with unknown members in all places where there may be some. */
function withMore(json: unknown, [top = {}, meta = {}, node = {}, edge = {}]: readonly object[]): unknown {
  // The examples are valid documents; the test above checks that.
  const { meta: itsMeta, nodes, edges, ...rest } = json as { meta: object; nodes: { data: object }[]; edges: object[] };
  return {
    ...rest,
    ...top,
    meta: { ...meta, ...itsMeta },
    nodes: nodes.map((one) => ({ ...node, ...one, data: { ...node, ...one.data } })),
    edges: edges.map((one) => ({ ...edge, ...one })),
  };
}
