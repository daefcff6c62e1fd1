import { roundRow, type RunWrite } from '#jobs';

import type { ChosenAgent } from '../agent.js';
import { type RoutedToAgent, ROUTING_ROUND } from './route-to-agent.js';

/** What was chosen, and how the choice came about. */
export interface MadeChoice {
  readonly chosen: ChosenAgent;
  readonly round: RoutedToAgent['round'];
  /** Empty: the model gave none, or made no choice. */
  readonly reasoning: string;
  /** Nobody was chosen: it takes what fits nobody. */
  readonly isFallback: boolean;
  readonly modelName: string;
  /** Ms since the epoch. */
  readonly startedAt: number;
}

/**
 * One write for the choice of an agent: its round, whose answer is the choice itself, and the event. What the model said is no
 * content, and the round is none of those that answer: it belongs to no node run, and to no conversation either. Pure.
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
