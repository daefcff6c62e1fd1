import type { ChatMessage, MessageContent } from '#models';

/** So much of what a model can read stays free, for its answer and its tools; a small model has at least this much. In tokens. */
const reserved = 10_000;
const least = 1_000;
/** The newest messages are never left out, however long they are. */
const newest = 5;
/** An estimate of the providers' token counts, which are not known without their tokenizers. */
const charactersPerToken = 4;
const tokensPerPiece = 1_000;

/** The messages sent to a model, and how many were left out. */
export interface Compacted {
  readonly messages: readonly ChatMessage[];
  readonly leftOut: number;
}

/**
 * Cuts a conversation to what a model of `contextTokens` can read: the oldest messages go first, system messages and the five
 * newest stay. Pure, linear.
 */
export function compactSession(messages: readonly ChatMessage[], contextTokens: number): Compacted {
  const limit = Math.max(least, contextTokens - reserved);
  const tokens = messages.map(tokensOf);
  let total = tokens.reduce((sum, count) => sum + count, 0);
  const mayGo = messages.slice(0, -newest).map(({ role }) => role !== 'system');
  const kept = messages.filter((_, i) => {
    if (total <= limit || mayGo[i] !== true) return true;
    total -= tokens[i] ?? 0;
    return false;
  });
  return { messages: kept, leftOut: messages.length - kept.length };
}

function tokensOf(message: ChatMessage): number {
  const content = message.content === null ? 0 : lengthOf(message.content);
  const calls = message.role === 'assistant' ? JSON.stringify(message.tool_calls ?? []).length : 0;
  return Math.ceil((content + calls) / charactersPerToken);
}

function lengthOf(content: MessageContent): number {
  if (typeof content === 'string') return content.length;
  const piece = tokensPerPiece * charactersPerToken;
  return content.reduce((sum, part) => sum + (part.type === 'text' ? part.text.length : piece), 0);
}
