import type { GraphNode, WorkflowGraph } from './graph.js';

/** What an agent of the workspace gives to a node that names it. */
export interface NodeAgent {
  readonly model: string | null;
  readonly instructions: string;
  /** Names of tools. */
  readonly tools: readonly string[];
  readonly parameters: Readonly<Record<string, unknown>>;
  /** Null: it has no limit of its own. */
  readonly maxRounds: number | null;
}

/**
 * The graph with what the agents give to their nodes. What a node says itself wins; of iterations the smaller number counts.
 * Names that `agents` does not have give nothing. Pure.
 */
export function withAgents(graph: WorkflowGraph, agents: ReadonlyMap<string, NodeAgent>): WorkflowGraph {
  if (agents.size === 0) return graph;
  return { ...graph, nodes: new Map([...graph.nodes].map(([id, node]) => [id, withAgent(node, agents)])) };
}

function withAgent(node: GraphNode, agents: ReadonlyMap<string, NodeAgent>): GraphNode {
  const agent = node.type === 'agent' && node.data.agent !== undefined ? agents.get(node.data.agent) : undefined;
  if (node.type !== 'agent' || agent === undefined) return node;
  const { data } = node;
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
