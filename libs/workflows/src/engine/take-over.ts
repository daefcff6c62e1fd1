import type { WorkflowGraph } from '../definition/graph.js';
import { reachableFrom } from '../definition/loop-bodies.js';
import type { ResumeFrom } from './run-plan.js';
import type { TakenOver } from './scope.js';

/** What this run takes over from an earlier one: all nodes that do not come after a node that runs again. */
export function toTakenOver(graph: WorkflowGraph, text: string, resumeFrom: ResumeFrom): TakenOver {
  const { startNodeId, input, finished, pending, session } = resumeFrom;
  const forced = [...new Set([startNodeId, ...pending])].filter((nodeId) => isOnTop(graph, nodeId));
  const again = reachableFrom(forced, graph.outgoing);
  return {
    again,
    forced,
    finished: finished.filter(({ nodeId }) => !again.has(nodeId) && isOnTop(graph, nodeId)),
    given: input === null ? new Map() : new Map([[startNodeId, input]]),
    text,
    isInSession: session !== null,
  };
}

function isOnTop(graph: WorkflowGraph, nodeId: string): boolean {
  return graph.nodes.has(nodeId) && !graph.owners.has(nodeId);
}
