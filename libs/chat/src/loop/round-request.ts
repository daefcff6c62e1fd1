import type { ChatMessage, ModelRequest, ToolChoice, ToolDefinition } from '#models';
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

/** The request of the round after `rounds`. */
export function nextRequest(input: LoopInput, rounds: readonly LoopRound[]): RoundRequest {
  const round = input.nextRound?.() ?? (rounds.at(-1)?.round ?? 0) + 1;
  const note = withheldNote(input, rounds);
  const offered = note === null ? offeredAfter(input, rounds) : [];
  const messages = [
    ...input.messages,
    ...rounds.flatMap((earlier) => [
      ...roundMessages(earlier),
      ...(input.messagesAfterRound?.get(earlier.round) ?? []),
    ]),
    ...(note ?? []),
  ];
  const tools = definitionsOf(offered, input.capture);
  const choice = tools.length === 0 ? undefined : choiceOf(input.toolChoice, rounds);
  const request: ModelRequest = {
    model: input.modelName,
    messages,
    ...(tools.length > 0 && { tools }),
    ...(choice !== undefined && { toolChoice: choice }),
    ...(input.parameters !== undefined && { parameters: input.parameters }),
    ...(input.onModelData !== undefined && { onData: input.onModelData }),
  };
  return { round, offered, request };
}

/** The capture tool replaces an offered tool of the same name. */
function definitionsOf(
  offered: readonly OfferedTool[],
  capture: ToolDefinition | undefined,
): readonly ToolDefinition[] {
  const tools = offered.map((tool) => tool.definition);
  if (capture === undefined) return tools;
  return [...tools.filter((tool) => tool.function.name !== capture.function.name), capture];
}

/** The tools of the request, and the pager once a result of this job is truncated. */
function offeredAfter({ offered, pager }: LoopInput, rounds: readonly LoopRound[]): readonly OfferedTool[] {
  if (pager === undefined || offered.some(({ name }) => name === pager.name)) return offered;
  return rounds.some(({ calls }) => calls.some(({ text }) => canReadOn(text))) ? [...offered, pager] : offered;
}

/** A note for the model that explains why this round has no tools; null: it has tools. */
function withheldNote({ offered, limits }: LoopInput, rounds: readonly LoopRound[]): readonly ChatMessage[] | null {
  if (offered.length === 0) return null;
  const isLast = rounds.length + 1 >= limits.maxRounds;
  if (isLast && limits.lastRound !== 'like-others') return [{ role: 'system', content: ROUND_NOTE }];
  return onlyRepeats(rounds, 2) ? [{ role: 'system', content: REPEAT_NOTE }] : null;
}

/** A forced choice would force a call in every round, so it applies to the first round only. */
function choiceOf(choice: ToolChoice | undefined, rounds: readonly LoopRound[]): ToolChoice | undefined {
  return rounds.length === 0 || choice === undefined || choice === 'none' ? choice : 'auto';
}
