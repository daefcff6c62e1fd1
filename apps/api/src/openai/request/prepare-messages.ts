import { repairConversation } from '#chat';
import type { AssistantMessage, ChatMessage, MessageContent, MessageToolCall, ToolMessage } from '#models';

import { OpenAiError } from '../../errors/openai-error.js';
import { type AnswerPiece, splitBlocks } from './tool-blocks.js';

/** A settled call of the session. */
export interface SessionCall {
  readonly id: string;
  readonly name: string;
  /** JSON text as the model wrote it. */
  readonly arguments: string;
  /** The text that the model reads. */
  readonly result: string;
}

/** Maximum number of restored calls; the newest are restored. */
const maxCalls = 1_000;

/** The ids of blocks in the messages. Each may be a call of the session, which the caller looks up before `prepareMessages`. Pure. */
export function callIdsIn(messages: readonly ChatMessage[]): readonly string[] {
  const ids = messages.flatMap((message) =>
    message.role === 'assistant' ? piecesOf(message).flatMap((piece) => (piece.type === 'call' ? [piece.id] : [])) : [],
  );
  return [...new Set(ids)].slice(-maxCalls);
}

/**
 * The messages for the model. Blocks of tool calls in earlier assistant messages are removed, or restored as a call and its result if the
 * call is one of `calls`. The conversation is always valid. Throws `OpenAiError` if there is no user text. Pure.
 */
export function prepareMessages(
  messages: readonly ChatMessage[],
  calls: ReadonlyMap<string, SessionCall>,
): readonly ChatMessage[] {
  if (!messages.some(({ role, content }) => role === 'user' && hasText(content))) {
    const message = 'No user message content found in messages';
    throw new OpenAiError({ status: 400, message, param: 'messages' });
  }
  const left = new Map(calls);
  const whole = messages.flatMap((message) => (message.role === 'assistant' ? restored(message, left) : [message]));
  return repairConversation(whole);
}

/** Removes all blocks without restoring calls. The request may lack user text. Pure. */
export function withoutBlocks(messages: readonly ChatMessage[]): readonly ChatMessage[] {
  return repairConversation(
    messages.flatMap((message) => (message.role === 'assistant' ? restored(message, new Map()) : [message])),
  );
}

function hasText(content: MessageContent | null): boolean {
  if (content === null) return false;
  if (typeof content === 'string') return content.trim() !== '';
  return content.some((part) => part.type !== 'text' || part.text.trim() !== '');
}

function piecesOf({ content }: AssistantMessage): readonly AnswerPiece[] {
  return typeof content === 'string' ? splitBlocks(content) : [];
}

/** The rounds that an assistant message contains. Each call is restored once, and `left` loses it. */
function restored(message: AssistantMessage, left: Map<string, SessionCall>): readonly ChatMessage[] {
  const { content } = message;
  if (typeof content !== 'string') return [message];
  const rounds: Round[] = [{ text: '', calls: [] }];
  for (const piece of piecesOf(message)) {
    const round = rounds.at(-1) ?? { text: '', calls: [] };
    if (piece.type === 'call') {
      const call = left.get(piece.id);
      if (call !== undefined && left.delete(piece.id)) round.calls.push(call);
    } else if (round.calls.length > 0 && piece.text.trim() !== '') rounds.push({ text: piece.text, calls: [] });
    else if (piece.text.trim() !== '') round.text += (round.text === '' ? '' : '\n') + piece.text;
  }
  const last = rounds.at(-1);
  const own = message.tool_calls ?? [];
  // The calls that the client itself sends come after all calls that the text shows.
  if (own.length > 0 && last !== undefined && last.calls.length > 0) rounds.push({ text: '', calls: [] });
  return rounds.flatMap((round, i) =>
    i === rounds.length - 1 && round.calls.length === 0 ? [{ ...message, content: round.text }] : toMessages(round),
  );
}

interface Round {
  text: string;
  readonly calls: SessionCall[];
}

function toMessages({ text, calls }: Round): readonly ChatMessage[] {
  const toCall = ({ id, name, arguments: args }: SessionCall): MessageToolCall => ({
    id,
    type: 'function',
    function: { name, arguments: args },
  });
  const toResult = ({ id, result }: SessionCall): ToolMessage => ({ role: 'tool', tool_call_id: id, content: result });
  return [
    { role: 'assistant', content: text === '' ? null : text, tool_calls: calls.map(toCall) },
    ...calls.map(toResult),
  ];
}
