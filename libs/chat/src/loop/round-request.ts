import type { ChatMessage, ModelRequest, ToolChoice } from '#models';
import { canReadOn, type OfferedTool } from '#tools';

import { roundMessages } from '../history/round-messages.js';
import type { LoopInput, LoopRound } from './loop-step.js';
import { onlyRepeats } from './stop-conditions.js';

/** One model call and the tools it offers. */
export interface RoundRequest {
  readonly round: number;
  readonly offered: readonly OfferedTool[];
  readonly request: ModelRequest;
}

const ROUND_NOTE =
  'The tool limit of this job is reached: no more tools can be called. Answer now with what the results above tell you.';
const REPEAT_NOTE =
  'The same tool calls were asked for again and again and are not repeated. Answer now with what the results above tell you.';

/** The request of the round after `rounds`. Pure. */
export function nextRequest(input: LoopInput, rounds: readonly LoopRound[]): RoundRequest {
  const round = (rounds.at(-1)?.round ?? 0) + 1;
  const note = withheldNote(input, rounds, round);
  const offered = note === null ? offeredAfter(input, rounds) : [];
  const messages = [...input.messages, ...rounds.flatMap(roundMessages), ...(note ?? [])];
  const choice = offered.length === 0 ? undefined : choiceOf(input.toolChoice, round);
  const request: ModelRequest = {
    model: input.modelName,
    messages,
    ...(offered.length > 0 && { tools: offered.map((tool) => tool.definition) }),
    ...(choice !== undefined && { toolChoice: choice }),
    ...(input.parameters !== undefined && { parameters: input.parameters }),
  };
  return { round, offered, request };
}

/** What the request named, and the pager once a result of this job says that there is more of it. */
function offeredAfter({ offered, pager }: LoopInput, rounds: readonly LoopRound[]): readonly OfferedTool[] {
  if (pager === undefined || offered.some(({ name }) => name === pager.name)) return offered;
  return rounds.some(({ calls }) => calls.some(({ text }) => canReadOn(text))) ? [...offered, pager] : offered;
}

/** Why this round is asked without tools, for the model to read; null when they are offered. */
function withheldNote(input: LoopInput, rounds: readonly LoopRound[], round: number): readonly ChatMessage[] | null {
  if (input.offered.length === 0) return null;
  if (round >= input.limits.maxRounds) return [{ role: 'system', content: ROUND_NOTE }];
  return onlyRepeats(rounds, 2) ? [{ role: 'system', content: REPEAT_NOTE }] : null;
}

/** A forced choice would force a call in every round, so it holds for the first only. */
function choiceOf(choice: ToolChoice | undefined, round: number): ToolChoice | undefined {
  return round === 1 || choice === undefined || choice === 'none' ? choice : 'auto';
}
