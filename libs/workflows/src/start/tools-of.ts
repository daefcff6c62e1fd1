import type { WorkflowGraph } from '../definition/graph.js';

/** Names of the tools that a workflow may call; `*` means all tools. */
export function toolsOf(graph: WorkflowGraph): ReadonlySet<string> {
  const names = new Set(graph.tools);
  for (const node of graph.nodes.values()) {
    if (node.type === 'agent') add(names, node.data.tools);
    if (node.type === 'parallel') for (const branch of node.data.branches) add(names, branch.tools);
    if (node.type === 'tool') names.add(node.data.toolId);
  }
  return names;
}

function add(names: Set<string>, more: readonly string[]): void {
  for (const name of more) names.add(name);
}

/** Types of nodes that never call a model. */
const quiet: ReadonlySet<string> = new Set([
  ...['start', 'tool', 'memory', 'schemaValidation'],
  ...['approval', 'input', 'wait', 'http', 'transform', 'map', 'subflow', 'plugin'],
]);

/** Returns whether a run may call a model. */
export function asksModels(graph: WorkflowGraph): boolean {
  return [...graph.nodes.values()].some((node) => {
    if (node.type === 'output') return node.data.mode === 'synthesis';
    return !quiet.has(node.type);
  });
}
