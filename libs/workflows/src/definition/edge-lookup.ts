import type { GraphEdge, GraphNode, WorkflowGraph } from './graph.js';

/** A way on from a router. */
export interface Route {
  /** What the model chooses by. */
  readonly id: string;
  readonly name: string;
  /** The target's; null: it has none. */
  readonly description: string | null;
  readonly edge: GraphEdge;
}

/** Only edges that name these lead on from them; the last one is ours. */
const EXACT: ReadonlySet<string> = new Set(['error', 'rejected', 'timeout']);

/**
 * The edges that a node takes with a handle, in document order: those of that handle and those without one. Matched exactly:
 * `error`, `rejected`, `timeout`, every handle of `parallel`, and a router's route, which is one edge. An edge of a loop or a map
 * without a handle belongs to `done`; `start` takes all but `error`.
 */
export function edgesOf(graph: WorkflowGraph, nodeId: string, handle: string): readonly GraphEdge[] {
  const node = graph.nodes.get(nodeId);
  const edges = graph.outgoing.get(nodeId) ?? [];
  if (node === undefined) return [];
  if (EXACT.has(handle)) return edges.filter((edge) => edge.handle === handle);
  if (node.type === 'router') {
    const route = routesOf(graph, nodeId).find(({ id }) => id === handle);
    return route === undefined ? [] : [route.edge];
  }
  if (node.type === 'start') return edges.filter((edge) => edge.handle !== 'error');
  return edges.filter((edge) => edge.handle === handle || (edge.handle === null && takesBare(node, handle)));
}

/** Whether edges without a handle go with this one. */
function takesBare({ type }: GraphNode, handle: string): boolean {
  if (type === 'parallel') return false;
  if (type === 'whileLoop' || type === 'map') return handle === 'done';
  return true;
}

/** The edges a node takes when it continues without a choice: all except those for a failure or a rejection. */
export function edgesOnward(graph: WorkflowGraph, nodeId: string): readonly GraphEdge[] {
  const edges = graph.outgoing.get(nodeId) ?? [];
  return edges.filter(({ handle }) => handle === null || !EXACT.has(handle));
}

/** A router's ways on, in document order. Two may have the same id: the first one is meant. */
export function routesOf(graph: WorkflowGraph, nodeId: string): readonly Route[] {
  return (graph.outgoing.get(nodeId) ?? [])
    .filter(({ handle }) => handle !== 'error' && handle !== 'rejected')
    .map((edge, index) => {
      const target = graph.nodes.get(edge.target);
      return {
        id: edge.handle ?? `route-${index}`,
        name: target?.data.label ?? edge.label ?? `Route ${index + 1}`,
        description: target?.description ?? null,
        edge,
      };
    });
}
