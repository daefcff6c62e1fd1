/** `type`, or the type and more of the node's data. */
export type NodeSketch = string | readonly [type: string, data: Readonly<Record<string, unknown>>];

const required: Readonly<Record<string, Readonly<Record<string, unknown>>>> = {
  agent: { model: 'test/model', prompt: 'Work.' },
  output: { format: 'text' },
  tool: { toolId: 'clock' },
  whileLoop: { conditionPrompt: 'Again?' },
  parallel: {
    mergeEnabled: true,
    prompt: 'Merge.',
    branches: [
      { id: 'left', label: 'Left' },
      { id: 'right', label: 'Right' },
    ],
  },
  subflow: { subflowId: 'child' },
  approval: { prompt: 'May it?' },
  input: { prompt: 'Which?', schema: { type: 'object' } },
  wait: { durationMs: 1_000 },
  http: { url: 'https://example.org/' },
  transform: { expression: 'input' },
};

export interface SketchedDocument {
  meta: Record<string, unknown>;
  nodes: { id: string; type: string; position: { x: number; y: number }; data: Record<string, unknown> }[];
  edges: { id: string; source: string; target: string; sourceHandle?: string; targetHandle?: string }[];
}

/**
 * A workflow document in few words: nodes by id, with what their types require filled in, and edges as `a > b`,
 * `a:error > b` or `a > b:input`.
 */
export function workflowDocument(
  nodes: Readonly<Record<string, NodeSketch>>,
  edges: readonly string[],
  meta: Readonly<Record<string, unknown>> = {},
): SketchedDocument {
  return {
    meta: { version: '2.0.0', name: 'Sketch', ...meta },
    nodes: Object.entries(nodes).map(([id, sketch], index) => {
      const [type, data] = typeof sketch === 'string' ? [sketch, {}] : sketch;
      return { id, type, position: { x: 0, y: index * 100 }, data: { label: id, ...required[type], ...data } };
    }),
    edges: edges.map((text, index) => {
      const [source = '', target = ''] = text.split('>').map((end) => end.trim());
      const [from = '', sourceHandle] = source.split(':');
      const [to = '', targetHandle] = target.split(':');
      return {
        id: `e${index}`,
        source: from,
        target: to,
        ...(sourceHandle === undefined ? {} : { sourceHandle }),
        ...(targetHandle === undefined ? {} : { targetHandle }),
      };
    }),
  };
}

/** One node, called `n`, between a start `s` and an output `o`, and more edges. */
export function around(sketch: NodeSketch, edges: readonly string[] = []): SketchedDocument {
  return workflowDocument({ s: 'start', n: sketch, o: 'output' }, ['s > n', 'n > o', ...edges]);
}
