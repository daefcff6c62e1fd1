import type { ChatMessage, ModelParameters } from '#models';
import { matchesGlob } from '#tools';

import type { AgentPreset, AgentSettings } from '../input/agent.js';
import type { ChatInput } from '../input/chat-input.js';
import type { LoopLimits } from '../loop/loop-step.js';

/** The names that a list of names and globs matches. */
export function coveredBy(patterns: readonly string[], names: readonly string[]): readonly string[] {
  return names.filter((name) => patterns.some((pattern) => pattern === name || matchesGlob(pattern, name)));
}

/**
 * Applies an agent to a request. Offers the agent's tools, and of the request's tools only those that clients run. The agent's parameters
 * take precedence. The server's tools are those that were pinned when the job was accepted (`toolPins`). Tools that the agent leaves to
 * clients are dropped if the request has no client. Pure.
 */
export function applyAgent(input: ChatInput, agent: AgentPreset): ChatInput {
  const known = Object.keys(input.toolPins ?? {});
  const external = coveredBy(agent.externalTools, known);
  const granted = coveredBy(agent.tools, known).filter((name) => !external.includes(name));
  const handedOver = input.client === undefined ? [] : external;
  const taken = new Set([...granted, ...external]);
  const clients = input.tools.flatMap((tool) =>
    typeof tool === 'string' || taken.has(tool.function.name) || runtimeOf(input, tool.function.name) === 'server'
      ? []
      : [tool],
  );
  const leftToClients = [...handedOver, ...clients.map((tool) => tool.function.name)];
  const parameters = pinned(input.parameters ?? {}, agent.parameters);
  return {
    ...input,
    tools: [...granted, ...handedOver, ...clients],
    toolRuntimes: Object.fromEntries(leftToClients.map((name) => [name, 'client' as const])),
    ...(Object.keys(parameters).length === 0 ? {} : { parameters }),
  };
}

/** The conversation with the agent's instructions as its first message. */
export function instructed(
  agent: Pick<AgentSettings, 'instructions'> | null,
  messages: readonly ChatMessage[],
): readonly ChatMessage[] {
  if (agent === null || agent.instructions.trim() === '') return messages;
  return [{ role: 'system', content: agent.instructions }, ...messages];
}

/** The limits of the installation, tightened by those of the agent. */
export function tightened(limits: LoopLimits, agent: Pick<AgentSettings, 'limits'> | null): LoopLimits {
  const { maxRounds, maxToolCallsPerRound, maxOutputBytes } = agent?.limits ?? {};
  return {
    ...limits,
    maxRounds: Math.min(limits.maxRounds, maxRounds ?? Infinity),
    maxToolCallsPerRound: Math.min(limits.maxToolCallsPerRound, maxToolCallsPerRound ?? Infinity),
    maxOutputBytes: Math.min(limits.maxOutputBytes, maxOutputBytes ?? Infinity),
  };
}

/** Two names of one parameter. If an agent pins one of them, the other name is pinned too. */
const SYNONYMS = ['max_tokens', 'max_completion_tokens'] as const;

function pinned(given: ModelParameters, own: ModelParameters): ModelParameters {
  const isPinned = SYNONYMS.some((name) => own[name] !== undefined);
  const dropped: readonly string[] = isPinned ? SYNONYMS : [];
  return { ...Object.fromEntries(Object.entries(given).filter(([name]) => !dropped.includes(name))), ...own };
}

function runtimeOf({ toolRuntimes = {} }: ChatInput, name: string): string | undefined {
  return Object.hasOwn(toolRuntimes, name) ? toolRuntimes[name] : undefined;
}
