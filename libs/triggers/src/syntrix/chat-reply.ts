import { parseJson } from '#platform';

import { nextCreatedAt, replyId } from './chat-timeline.js';
import type { SyntrixDocument } from './syntrix-client.js';
import { sha256 } from './syntrix-delivery.js';

/** A tool call that the model asks for. */
export interface AskedCall {
  readonly callId: string;
  readonly name: string;
  /** JSON text as the model wrote it. */
  readonly arguments: string;
  /** Why it must not run. Absent: it may. */
  readonly refusal?: string;
}

/** The documents that answer a turn. Their ids follow from the turn and the calls, so that writing them again changes nothing. */
export interface ReplyDocuments {
  readonly messages: readonly SyntrixDocument[];
  readonly toolCalls: readonly SyntrixDocument[];
}

/** `newest`: `createdAt` of the chat's newest document when the model was asked. Null: the model neither answered nor asked for a call. */
export function replyDocuments(
  { text, calls }: { readonly text: string; readonly calls: readonly AskedCall[] },
  turn: { readonly key: string; readonly jobId: string; readonly newest: unknown; readonly now: number },
): ReplyDocuments | null {
  const { key, jobId, newest, now } = turn;
  const at = (index: number) => nextCreatedAt(newest, index, now);
  if (calls.length > 0) {
    const turnId = `turn_${sha256(key).slice(0, 32)}`;
    const toolCalls = calls.map(({ callId: id, name: toolName, arguments: text, refusal }, index): SyntrixDocument => {
      const args = parseArgs(text);
      const place = { createdAt: at(index), turnId, turnSize: calls.length, index, jobId };
      const error = refusal ?? (args === null ? 'Invalid arguments' : null);
      return error === null
        ? { id, toolName, args, status: 'pending', ...place }
        : { id, toolName, args: args ?? {}, status: 'failed', error, ...place };
    });
    return { messages: [], toolCalls };
  }
  if (text.trim() === '') return null;
  return {
    messages: [{ id: replyId(key), role: 'assistant', content: text, createdAt: at(0), jobId }],
    toolCalls: [],
  };
}

/** Some models send no text for a call without arguments. */
function parseArgs(text: string): object | null {
  if (text.trim() === '') return {};
  try {
    const value: unknown = parseJson(text);
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? value : null;
  } catch {
    return null;
  }
}
