import type { AgentPreset } from '#chat';
import { matchesGlob } from '#tools';

import type { NodeAgent } from '../definition/with-agents.js';

/** What an agent gives to nodes: its tools among `names`. Those that it leaves to clients are nobody's in a workflow. */
export function toNodeAgent(agent: AgentPreset, names: readonly string[]): NodeAgent {
  const { model, instructions, parameters, limits } = agent;
  const covers = (patterns: readonly string[], name: string) => patterns.some((pattern) => matchesGlob(pattern, name));
  const tools = names.filter((name) => covers(agent.tools, name) && !covers(agent.externalTools, name));
  return { model, instructions, tools, parameters, maxRounds: limits.maxRounds ?? null };
}
