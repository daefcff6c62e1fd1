import type {
  ChatMessage,
  FinishReason,
  ModelPart,
  ModelRequest,
  ModelUsage,
  RequestedCall,
  ToolChoice,
  ToolDefinition,
} from '#models';
import { canReadOn, type OfferedTool } from '#tools';

import { roundMessages } from '../history/round-messages.js';
import type { LoopInput, LoopRound } from './loop-step.js';
import { onlyRepeats } from './stop-conditions.js';

/** One model call, and the tools that it offers. */
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

/** The tools of the request, and the output reader once a result of this job is truncated. */
function offeredAfter({ offered, outputReader }: LoopInput, rounds: readonly LoopRound[]): readonly OfferedTool[] {
  if (outputReader === undefined || offered.some(({ name }) => name === outputReader.name)) return offered;
  return rounds.some(({ calls }) => calls.some(({ text }) => canReadOn(text))) ? [...offered, outputReader] : offered;
}

/** A note for the model that explains why this round has no tools; null if it has tools. */
function withheldNote({ offered, limits }: LoopInput, rounds: readonly LoopRound[]): readonly ChatMessage[] | null {
  if (offered.length === 0) return null;
  const isLast = rounds.length + 1 >= limits.maxRounds;
  if (isLast && limits.lastRound !== 'like-others') return [{ role: 'system', content: ROUND_NOTE }];
  return onlyRepeats(rounds, 2) ? [{ role: 'system', content: REPEAT_NOTE }] : null;
}

/** A forced choice applies to the first round only. Otherwise every round would contain the forced call. */
function choiceOf(choice: ToolChoice | undefined, rounds: readonly LoopRound[]): ToolChoice | undefined {
  return rounds.length === 0 || choice === undefined || choice === 'none' ? choice : 'auto';
}

/** The text that one batch of the model's stream added. */
export interface Addition {
  readonly text: string;
  readonly reasoning: string;
}

/** Collects one response of the model while it streams, up to the bytes that the job has left. */
export class RoundResponse {
  text = '';
  reasoning = '';
  calls: readonly RequestedCall[] = [];
  finish: { readonly finishReason: FinishReason; readonly usage: ModelUsage } | null = null;
  /** True after text was dropped. */
  isFull = false;

  constructor(private bytesLeft: number) {}

  /** Adds the parts of one read of the socket; drops text beyond the limit, at a character boundary. */
  take(batch: readonly ModelPart[]): Addition {
    let text = '';
    let reasoning = '';
    for (const part of batch) {
      if (part.type === 'text') text += part.text;
      else if (part.type === 'reasoning') reasoning += part.text;
      else if (part.type === 'tool-calls') this.calls = part.calls;
      else this.finish = part;
    }
    const addition = { reasoning: this.within(reasoning), text: this.within(text) };
    this.reasoning += addition.reasoning;
    this.text += addition.text;
    return addition;
  }

  private within(text: string): string {
    if (text === '') return text;
    const bytes = Buffer.byteLength(text);
    const kept = bytes <= this.bytesLeft ? text : cutTo(text, this.bytesLeft);
    this.isFull ||= kept !== text;
    this.bytesLeft -= Buffer.byteLength(kept);
    return kept;
  }
}

/** The characters of the text that fit into the bytes. */
function cutTo(text: string, bytes: number): string {
  const { read } = new TextEncoder().encodeInto(text, new Uint8Array(Math.max(0, bytes)));
  return text.slice(0, read);
}
