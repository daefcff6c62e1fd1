import { parseDocument } from '../../libs/workflows/src/definition/document.js';
import { toGraph, type WorkflowGraph } from '../../libs/workflows/src/definition/graph.js';

/** A definition in short: nodes by id with their type and data, edges as `a -> b` or `a:handle -> b`. */
export interface Sketch {
  readonly nodes: Readonly<Record<string, { readonly type: string } & Readonly<Record<string, unknown>>>>;
  readonly edges: readonly string[];
  readonly meta?: Readonly<Record<string, unknown>>;
}

/** A graph of a sketch; `start` is always there. */
export function graphOf({ nodes, edges, meta }: Sketch): WorkflowGraph {
  const all = Object.entries({ start: { type: 'start' }, ...nodes });
  const parsed = parseDocument({
    meta: { version: '2.0.0', name: 'sketch', ...meta },
    nodes: all.map(([id, { type, ...data }]) => ({
      id,
      type,
      position: { x: 0, y: 0 },
      data: { label: id, model: 'm', subflowId: '', ...data },
    })),
    edges: edges.map(toEdge),
  });
  if (!parsed.ok) throw new Error(JSON.stringify(parsed.faults));
  return toGraph(parsed.document);
}

function toEdge(text: string, index: number): object {
  const match = /^([^:>]+?)(?::([^ ]+))? -> (.+)$/.exec(text);
  if (match === null) throw new Error(`not an edge: ${text}`);
  const [, source, sourceHandle, target] = match;
  return { id: `e${index}`, source, target, sourceHandle };
}
