import { createHash } from 'node:crypto';

import type { ChatMessage, MessageContent } from '#models';

/** A result that a client sent. */
export interface ToolResult {
  readonly id: string;
  readonly content: string;
}

/** The results of calls in a request. */
export interface Continuation {
  /** The results that the continuation applies, as the client sent them; an id may occur twice. */
  readonly results: readonly ToolResult[];
  /** The other messages after the calls, in their order. */
  readonly after: readonly ChatMessage[];
  /** Whether the request ends with results. If so, it can only be a continuation. */
  readonly endsWithResults: boolean;
}

/** Results after the last assistant message with calls apply; without such a message, all results apply. Pure. */
export function readContinuation(messages: readonly ChatMessage[]): Continuation {
  const last = messages.findLastIndex(
    (message) => message.role === 'assistant' && (message.tool_calls ?? []).length > 0,
  );
  const start = last === -1 ? messages.findIndex(({ role }) => role === 'tool') : last + 1;
  const counting = start === -1 ? [] : messages.slice(start);
  return {
    results: counting.flatMap((message) =>
      message.role === 'tool' ? [{ id: message.tool_call_id, content: textOf(message.content) }] : [],
    ),
    after: counting.filter(({ role }) => role !== 'tool'),
    endsWithResults: messages.at(-1)?.role === 'tool',
  };
}

/** SHA-256 (hex) of ids and contents in any order: distinguishes a repeated continuation from a different one. Pure. */
export function resultsDigest(results: readonly ToolResult[]): string {
  const byId = new Map(results.map(({ id, content }) => [id, content]));
  const sorted = [...byId].sort(([a], [b]) => (a < b ? -1 : 1));
  return createHash('sha256').update(JSON.stringify(sorted)).digest('hex');
}

function textOf(content: MessageContent): string {
  if (typeof content === 'string') return content;
  return content.map((part) => (part.type === 'text' ? part.text : '')).join('');
}
