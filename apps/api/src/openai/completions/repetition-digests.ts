import { createHash } from 'node:crypto';

import type { ContinuationDigests } from '#chat';
import { canonicalJson } from '#tools';

import type { CompletionRequest } from '../request/completion-request.js';
import { type Continuation, resultsDigest } from '../request/continuation.js';

/**
 * Digests that identify a repeated continuation. Null: the request has no tool results, or an assistant message follows them, so they
 * are history. Pure.
 */
export function repetitionDigests(
  continuation: Continuation,
  request: CompletionRequest,
  sessionId: string | null,
): ContinuationDigests | null {
  const { results, after } = continuation;
  const isHistory = after.some(({ role }) => role === 'assistant');
  return results.length === 0 || isHistory ? null : digestsOf(continuation, request, sessionId);
}

/**
 * `results`: the results and, without a session, the conversation before them, because another conversation may have the same ids of calls.
 * System messages are left out, because clients put the time into them. `request`: the other fields that affect the response. The model is
 * left out, because it has several names. Pure.
 */
export function digestsOf(
  { results, after }: Continuation,
  { messages, tools, toolChoice, parameters }: CompletionRequest,
  sessionId: string | null,
): ContinuationDigests {
  const end = messages.findLastIndex(({ role }) => role === 'assistant') + 1;
  const history = sessionId === null ? messages.slice(0, end).filter(({ role }) => role !== 'system') : [];
  return {
    results: digestOf([resultsDigest(results), history]),
    request: digestOf([after, tools, toolChoice, parameters]),
  };
}

function digestOf(value: unknown): string {
  return createHash('sha256').update(canonicalJson(value)).digest('hex');
}
