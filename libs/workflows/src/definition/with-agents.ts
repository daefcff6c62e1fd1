import { notRunnable } from './definition.errors.js';
import type { GraphNode, WorkflowGraph } from './graph.js';

/** The settings that an agent of the workspace gives to a node that names it. */
export interface NodeAgent {
  readonly model: string | null;
  readonly instructions: string;
  /** Names of the agent's tools, including tools that clients run. */
  readonly tools: readonly string[];
  readonly parameters: Readonly<Record<string, unknown>>;
  /** Null: it has no limit of its own. */
  readonly maxRounds: number | null;
}

/**
 * The graph with the settings that the agents give to their nodes. A node's own settings win; of two iteration limits the smaller
 * applies. A node cannot run without the agent it names, because that agent also defines what needs approval: throws
 * `workflow_not_runnable` when `agents` does not contain it. Pure.
 */
export function withAgents(graph: WorkflowGraph, agents: ReadonlyMap<string, NodeAgent>): WorkflowGraph {
  return { ...graph, nodes: new Map([...graph.nodes].map(([id, node]) => [id, withAgent(node, agents)])) };
}

function withAgent(node: GraphNode, agents: ReadonlyMap<string, NodeAgent>): GraphNode {
  if (node.type !== 'agent' || node.data.agent === undefined) return node;
  const { data } = node;
  const agent = agents.get(node.data.agent);
  if (agent === undefined) throw notRunnable(`the node "${node.id}" names an agent that is not there`);
  return {
    ...node,
    data: {
      ...data,
      model: data.model.trim() === '' ? (agent.model ?? '') : data.model,
      prompt: data.prompt.trim() === '' ? agent.instructions : data.prompt,
      tools: data.tools.length === 0 ? [...agent.tools] : data.tools,
      modelRequest: { ...agent.parameters, ...data.modelRequest },
      maxToolIterations: Math.min(data.maxToolIterations, agent.maxRounds ?? Infinity),
    },
  };
}
