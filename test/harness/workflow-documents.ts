/** A node of a document; `data` is what differs from the smallest one of its type. */
export interface TestNode {
  readonly id: string;
  readonly type?: string;
  readonly data?: object;
}

/** `from -> to`, `from:handle -> to`. */
export type TestEdge = string;

/** A document with these nodes (agents unless they say otherwise, and a start) and edges. */
export function workflowDocument(
  meta: { readonly name: string; readonly [member: string]: unknown },
  nodes: readonly TestNode[],
  edges: readonly TestEdge[],
) {
  return {
    meta: { version: '2.0.0', ...meta },
    nodes: [{ id: 'start', type: 'start' }, ...nodes].map(({ id, type = 'agent', data }: TestNode) => ({
      id,
      type,
      position: { x: 0, y: 0 },
      data: { label: id, ...(type === 'agent' ? { model: 'scripted', prompt: 'Do it.' } : {}), ...data },
    })),
    edges: edges.map((text, index) => toEdge(text, `e${index + 1}`)),
  };
}

/** Start, one agent, an output. */
export function smallWorkflow(meta: { readonly name: string; readonly [member: string]: unknown }) {
  const nodes = [{ id: 'writer' }, { id: 'end', type: 'output', data: { format: 'text', sources: ['writer'] } }];
  return workflowDocument(meta, nodes, ['start -> writer', 'writer -> end']);
}

function toEdge(text: string, id: string) {
  const [from = '', target = ''] = text.split(' -> ');
  const [source = '', handle] = from.split(':');
  return { id, source, target, ...(handle === undefined ? {} : { sourceHandle: handle }) };
}
