import type { ChatMessage, Model } from '#models';
import { AppError } from '#platform';

import type { AgentPreset } from '../input/agent.js';
import type { LoopLimits, LoopOutcome, LoopStep } from '../loop/loop-step.js';
import { toolLoop } from '../loop/tool-loop.js';
import { chooseRoute } from '../routing/choose-route.js';
import { routingRequest } from '../routing/routing-request.js';

/** The candidates, and the conversation for which an agent is chosen. */
export interface AgentRouting {
  readonly model: Model;
  readonly modelName: string;
  readonly candidates: readonly AgentPreset[];
  /** The conversation; the agent is chosen for its last user message. */
  readonly messages: readonly ChatMessage[];
  readonly limits: LoopLimits;
  readonly signal: AbortSignal;
}

type Round = Extract<LoopStep, { type: 'round-finished' }>;

/** The round of the choice, and the chosen agent; null if the model chose none. */
export interface RoutedToAgent {
  readonly round: Round;
  readonly choice: { readonly agent: AgentPreset; readonly reasoning: string } | null;
}

/** Asks the model once which agent fits. Viewers do not see its text. Throws the model's error, and the abort reason of the signal. */
export async function routeToAgent(routing: AgentRouting): Promise<RoutedToAgent> {
  const { candidates, messages, signal, ...loop } = routing;
  const routes = candidates.map((agent) => ({
    id: agent.slug,
    name: agent.name,
    description: agent.description,
    agent,
  }));
  const { system, ...asked } = routingRequest(routes.map(withoutEmptyDescription), '');
  const steps = toolLoop({
    ...loop,
    ...asked,
    messages: [{ role: 'system', content: system }, ...lastUserMessage(messages)],
    rounds: [],
    offered: [],
    nextRound: () => ROUTING_ROUND,
    signal,
  });
  let next = await steps.next(undefined);
  for (; next.done !== true; next = await steps.next(undefined)) {
    if (next.value.type !== 'round-finished') continue;
    const round = next.value;
    const chosen = chooseRoute(routes, { captured: round.captured ?? null, text: round.text });
    return { round, choice: chosen === null ? null : { agent: chosen.route.agent, reasoning: chosen.reasoning } };
  }
  throw failureOf(next.value, signal);
}

/** The number of the routing round: it comes before the rounds of the conversation. */
export const ROUTING_ROUND = 0;

function withoutEmptyDescription<T extends { readonly description: string }>(route: T) {
  return { ...route, description: route.description === '' ? null : route.description };
}

/** The last user message; without one, the conversation itself. */
function lastUserMessage(messages: readonly ChatMessage[]): readonly ChatMessage[] {
  const last = messages.findLast(({ role }) => role === 'user');
  return last === undefined ? messages : [last];
}

function failureOf(end: LoopOutcome, signal: AbortSignal): unknown {
  if (signal.aborted) return signal.reason;
  if (end.type !== 'stopped') return new Error('the routing call ended without a response');
  const { code, message, cause } = end;
  return cause instanceof AppError ? cause : new AppError({ code, message });
}
