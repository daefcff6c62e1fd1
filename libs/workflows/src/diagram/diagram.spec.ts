import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';

import { type NodeSketch, workflowDocument } from '../../../../test/harness/workflow-document.js';
import { parseDocument, type WorkflowDocument } from '../definition/document.js';
import type { NodeRunStatus } from '../engine/node-run.js';
import { toDrawing } from './drawing.js';
import { layeredLayout } from './layered-layout.js';
import { toMermaid } from './to-mermaid.js';
import { toSvg } from './to-svg.js';

function parsed(nodes: Record<string, NodeSketch>, edges: readonly string[], meta = {}): WorkflowDocument {
  const result = parseDocument(workflowDocument(nodes, edges, meta));
  if (!result.ok) throw new Error(JSON.stringify(result.faults));
  return result.document;
}

const routed = parsed(
  { s: 'start', r: ['router', { label: 'Which "one"?' }], a: ['agent', { label: '<b>A & B</b>' }], o: 'output' },
  ['s > r', 'r:route-1 > a', 'a:output > o', 'r:error > o'],
);
const states = new Map<string, NodeRunStatus>([
  ['s', 'completed'],
  ['r', 'completed'],
  ['a', 'active'],
  ['o', 'pending'],
]);

describe('a Mermaid diagram', () => {
  it('shows nodes, edges and the statuses of a run', () => {
    expect(toMermaid(routed, states)).toBe(`flowchart TD
  accTitle: Sketch
  accDescr: A workflow of 4 nodes and 4 edges: 2 completed, 1 active, 1 pending.
  n0(["s<br/>start, completed"])
  n1{"Which #34;one#34;?<br/>router, completed"}
  n2["#60;b#62;A #38; B#60;/b#62;<br/>agent, active"]
  n3(["o<br/>output, pending"])
  n0 --> n1
  n1 -->|"route#45;1"| n2
  n2 --> n3
  n1 -->|"error"| n3
  classDef pending fill:#f1f3f5,stroke:#868e96,color:#1a1b1e
  class n3 pending
  classDef active fill:#d0ebff,stroke:#1971c2,color:#1a1b1e
  class n2 active
  classDef completed fill:#d3f9d8,stroke:#2b8a3e,color:#1a1b1e
  class n0,n1 completed
`);
  });

  it('escapes labels', () => {
    const label = fc.string({ unit: fc.constantFrom(...Array.from('%{}"`#;[]()<>|-.\n\\ainit:end')) });
    fc.assert(
      fc.property(label, (text) => {
        const lines = toMermaid(parsed({ s: ['start', { label: text }] }, [], { name: `x${text}` })).split('\n');
        expect(lines).toHaveLength(5);
        expect(lines.slice(1).join('')).not.toMatch(/[%`{}]|"[^"]*"[^"]*"/);
      }),
    );
  });
});

describe('an SVG diagram', () => {
  it('contains a title, a description and a box for each node', () => {
    const svg = toSvg(routed, states);
    expect(svg).toContain('<title>Sketch</title>');
    expect(svg).toContain('<desc>A workflow of 4 nodes and 4 edges: 2 completed, 1 active, 1 pending.</desc>');
    expect(svg).toContain('<title>&lt;b&gt;A &amp; B&lt;/b&gt; (agent · active)</title>');
    expect(svg.match(/<g>/g)).toHaveLength(4);
    expect(svg.match(/marker-end/g)).toHaveLength(4);
    expect(toSvg(routed, states)).toBe(svg);
  });

  it('escapes labels as text', () => {
    const drawn = (text: string): string =>
      toSvg(parsed({ s: ['start', { label: `x${text}` }] }, [], { name: `x${text}` }));
    const tagsOf = (svg: string): readonly string[] => svg.replaceAll(/"[^"]*"/g, '').match(/<\/?[a-z]+[^>]*>/gi) ?? [];
    fc.assert(
      fc.property(
        fc.string({ unit: fc.constantFrom('<', '>', '"', "'", '&', '\u0001', '\uD800', 'é', '/g', '-->') }),
        (text) => {
          const svg = drawn(text);
          expect(tagsOf(svg)).toEqual(tagsOf(drawn('')));

          expect(svg).not.toMatch(/[\u0000-\u0008\u000B\u000C\u000E-\u001F\uFFFE\uFFFF]/);
          expect(svg.isWellFormed()).toBe(true);
        },
      ),
    );
  });
});

describe('a layout', () => {
  it('places every node below its predecessors, and no two at one position', () => {
    const edge = fc.tuple(fc.nat(19), fc.nat(19)).filter(([a, b]) => a !== b);
    fc.assert(
      fc.property(fc.array(edge, { maxLength: 60 }), (pairs) => {
        const nodes = Array.from({ length: 20 }, () => ({ label: 'x', type: 'agent', status: null }));
        const edges = pairs.map(([a, b]) => ({ from: Math.min(a, b), to: Math.max(a, b), label: null }));
        const { cells, ways } = layeredLayout({ nodes, edges });
        for (const { from, to } of edges) expect(cells[to]?.layer).toBeGreaterThan(cells[from]?.layer ?? Infinity);
        const all = [...cells, ...ways.flat()];
        expect(new Set(all.map(({ layer, column }) => `${layer}/${column}`)).size).toBe(all.length);
      }),
    );
  });

  it('places nodes of a cycle', () => {
    const circle = parsed({ s: 'start', a: 'agent', b: 'agent' }, ['s > a', 'a > b', 'b > a', 'b > b']);
    expect(layeredLayout(toDrawing(circle)).cells).toHaveLength(3);
    expect(toSvg(circle)).toContain('</svg>');
  });

  it('bounds its size for any input', () => {
    const nodes = Object.fromEntries(Array.from({ length: 700 }, (_, i) => [`n${i}`, i === 0 ? 'start' : 'agent']));
    const edges = Array.from({ length: 3_000 }, (_, i) => `n${(i * 7) % 499} > n${(i * 13) % 500}`);
    const svg = toSvg(parsed(nodes, edges, { name: 'x'.repeat(100_000) }));
    expect(svg.match(/<g>/g)).toHaveLength(500);
    expect(svg.match(/marker-end/g)?.length).toBeLessThanOrEqual(2_000);
    expect(svg).toContain('A workflow of 500 nodes, the first of 700 and 2000 edges.');
  });
});
