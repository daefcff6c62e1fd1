import type { AgentPreset } from '#chat';
import { matchesGlob } from '#tools';

import type { NodeAgent } from '../definition/with-agents.js';

/** The settings that an agent gives to nodes: its tools among `names`, with the tools that clients run at the end. */
export function toNodeAgent(agent: AgentPreset, names: readonly string[]): NodeAgent {
  const { model, instructions, parameters, limits } = agent;
  const covers = (patterns: readonly string[], name: string) => patterns.some((pattern) => matchesGlob(pattern, name));
  const external = names.filter((name) => covers(agent.externalTools, name));
  const tools = names.filter((name) => covers(agent.tools, name) && !external.includes(name));
  return { model, instructions, tools: [...tools, ...external], parameters, maxRounds: limits.maxRounds ?? null };
}
