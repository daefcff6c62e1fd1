import type { ChatMessage, Model } from '#models';
import { AppError } from '#platform';

import type { AgentPreset } from '../agent.js';
import type { LoopLimits, LoopOutcome, LoopStep } from '../loop/loop-step.js';
import { toolLoop } from '../loop/tool-loop.js';
import { chooseRoute } from '../routing/choose-route.js';
import { routingRequest } from '../routing/routing-request.js';

/** Whom to choose among, and what for. */
export interface AgentRouting {
  readonly model: Model;
  readonly modelName: string;
  readonly candidates: readonly AgentPreset[];
  /** The conversation; what its user said last is what somebody is wanted for. */
  readonly messages: readonly ChatMessage[];
  readonly limits: LoopLimits;
  readonly signal: AbortSignal;
}

type Round = Extract<LoopStep, { type: 'round-finished' }>;

/** The round that was asked, and the agent it names; null: none of them. */
export interface RoutedToAgent {
  readonly round: Round;
  readonly choice: { readonly agent: AgentPreset; readonly reasoning: string } | null;
}

/** Asks once who fits. Nothing of it is shown. Throws the model's error, and what the signal was aborted with. */
export async function routeToAgent(routing: AgentRouting): Promise<RoutedToAgent> {
  const { candidates, messages, signal, ...loop } = routing;
  const routes = candidates.map((agent) => ({
    id: agent.slug,
    name: agent.name,
    description: agent.description,
    agent,
  }));
  const { system, ...asked } = routingRequest(routes.map(withoutSilence), '');
  const steps = toolLoop({
    ...loop,
    ...asked,
    messages: [{ role: 'system', content: system }, ...lastSaid(messages)],
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

/** Its number: before every round that answers. */
export const ROUTING_ROUND = 0;

function withoutSilence<T extends { readonly description: string }>(route: T) {
  return { ...route, description: route.description === '' ? null : route.description };
}

/** What the user said last; with nothing said, the conversation as it is. */
function lastSaid(messages: readonly ChatMessage[]): readonly ChatMessage[] {
  const last = messages.findLast(({ role }) => role === 'user');
  return last === undefined ? messages : [last];
}

function failureOf(end: LoopOutcome, signal: AbortSignal): unknown {
  if (signal.aborted) return signal.reason;
  if (end.type !== 'stopped') return new Error('the routing call ended without an answer');
  const { code, message, cause } = end;
  return cause instanceof AppError ? cause : new AppError({ code, message });
}
