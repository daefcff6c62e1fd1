import type { GraphNode, WorkflowGraph } from '../definition/graph.js';
import type { RunPlan } from '../engine/run-plan.js';

/** A node and the graph it is in. */
export interface LocatedNode {
  readonly node: GraphNode;
  readonly graph: WorkflowGraph;
}

/** The nodes of a plan by their ids as reported: a loop asks for the same ones again and again. */
export class PlanNodes {
  private readonly found = new Map<string, LocatedNode>();

  constructor(private readonly plan: RunPlan) {}

  /** Throws for one that the plan does not have. */
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

/** Goes into the subflow that the id begins with; null: it names a node of `graph`. */
function enter(plan: RunPlan, graph: WorkflowGraph, id: string) {
  if (!id.startsWith('sf:') || graph.nodes.has(id)) return null;
  const end = id.indexOf('|');
  const node = graph.nodes.get(id.slice('sf:'.length, end));
  if (end === -1 || node?.type !== 'subflow') return null;
  const inner = plan.subflows.get(node.data.subflowId);
  return inner === undefined ? null : { graph: inner, id: id.slice(end + 1) };
}
