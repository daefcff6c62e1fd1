import type { GraphNode, WorkflowGraph } from '../definition/graph.js';
import type { RunPlan } from '../engine/run-plan.js';

/** A node and its graph. */
export interface LocatedNode {
  readonly node: GraphNode;
  readonly graph: WorkflowGraph;
}

/** Finds the nodes of a plan by their reported ids, and caches them: a loop asks for the same ids again. */
export class PlanNodes {
  private readonly found = new Map<string, LocatedNode>();

  constructor(private readonly plan: RunPlan) {}

  /** Throws if the plan does not contain the node. */
  find(nodeId: string): LocatedNode {
    const known = this.found.get(nodeId);
    if (known !== undefined) return known;
    const located = locateNode(this.plan, nodeId);
    this.found.set(nodeId, located);
    return located;
  }
}

function locateNode(plan: RunPlan, nodeId: string): LocatedNode {
  let { graph } = plan;
  let id = nodeId;
  for (let step = enter(plan, graph, id); step !== null; step = enter(plan, graph, id)) ({ graph, id } = step);
  const node = graph.nodes.get(id);
  if (node === undefined) throw new Error(`this workflow has no node "${nodeId}"`);
  return { node, graph };
}

/** Enters the subflow that the id begins with; null: the id names a node of `graph`. */
function enter(plan: RunPlan, graph: WorkflowGraph, id: string) {
  if (!id.startsWith('sf:') || graph.nodes.has(id)) return null;
  const end = id.indexOf('|');
  const node = graph.nodes.get(id.slice('sf:'.length, end));
  if (end === -1 || node?.type !== 'subflow') return null;
  const inner = plan.subflows.get(node.data.subflowId);
  return inner === undefined ? null : { graph: inner, id: id.slice(end + 1) };
}
