import { roundRow, type RunWrite } from '#jobs';

import type { ChosenAgent } from '../agent.js';
import { type RoutedToAgent, ROUTING_ROUND } from './route-to-agent.js';

/** The chosen agent, and how it was chosen. */
export interface MadeChoice {
  readonly chosen: ChosenAgent;
  readonly round: RoutedToAgent['round'];
  /** Empty: the model gave no reason, or chose none. */
  readonly reasoning: string;
  /** The model chose none, so the default agent is used. */
  readonly isFallback: boolean;
  readonly modelName: string;
  /** Ms since the epoch. */
  readonly startedAt: number;
}

/**
 * One write for the choice of an agent: its round, which stores the choice, and the event. The model's text is not content, and the round
 * belongs to no node run and no conversation. Pure.
 */
export function routingWrite(
  job: { readonly workspaceId: string; readonly jobId: string },
  made: MadeChoice,
): RunWrite {
  const { chosen, round, reasoning, isFallback, modelName: model, startedAt } = made;
  const { promptTokens, completionTokens, totalTokens, estimated: usageEstimated } = round.usage;
  const { id: agent, version, name, slug } = chosen;
  const row = roundRow(job, {
    ...{ number: ROUTING_ROUND, nodeRun: NO_NODE, branch: 'agent', model, startedAt },
    ...{ text: '', reasoning: '', finishReason: round.finishReason, partial: false },
    ...{ promptTokens, completionTokens, usageEstimated },
    captured: JSON.stringify({ ...chosen, reasoning, fallback: isFallback }),
  });
  return {
    rows: [row],
    events: [
      {
        type: 'agent-selected',
        body: {
          ...{ agent, version, name, slug, reasoning, fallback: isFallback },
          usage: { promptTokens, completionTokens, totalTokens },
          ...(usageEstimated ? { usageEstimated } : {}),
        },
      },
    ],
    counts: { promptTokens, completionTokens },
    progress: true,
  };
}

/** Node runs count from 1. */
const NO_NODE = 0;
