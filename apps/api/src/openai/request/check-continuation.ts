import type { ChatMessage } from '#models';

import { OpenAiError } from '../../errors/openai-error.js';
import type { Continuation, ToolResult } from './continuation.js';

/** A paused run that waits for its client. */
export interface PendingRun {
  /** The names of its model: the requested model, and the agent that answers. */
  readonly models: readonly string[];
  readonly callIds: readonly string[];
}

/** The input of `checkContinuation`. */
export interface ContinuationQuestion {
  /** Whether the session has another response in progress. */
  readonly isBusy: boolean;
  /** Null: no run waits for the client. */
  readonly pending: PendingRun | null;
  readonly model: string;
  readonly continuation: Continuation;
}

/** `new`: start a new run. `continue`: settle the calls that wait, with one result for each, in their order. */
export type ContinuationAnswer =
  | { readonly type: 'new' }
  | { readonly type: 'continue'; readonly results: readonly ToolResult[]; readonly after: readonly ChatMessage[] };

const maxResultBytes = 262_144;

/** Checks every rule in the order of the contract, before anything is applied. Throws `OpenAiError`. Pure. */
export function checkContinuation({ isBusy, pending, model, continuation }: ContinuationQuestion): ContinuationAnswer {
  if (isBusy) throw sessionBusy();
  if (pending !== null && model !== 'auto' && !pending.models.includes(model)) {
    throw refusal('Pending tool run belongs to a different model for this session', 'model');
  }
  const { results, after, endsWithResults } = continuation;
  if (pending === null) {
    if (endsWithResults) throw refusal('No pending tool run exists for these tool results');
    return { type: 'new' };
  }
  if (results.length === 0) throw refusal('Tool result messages are required to continue the paused run');
  return { type: 'continue', results: matched(pending.callIds, results), after };
}

/** 409: the session has a response in progress. */
export function sessionBusy(): OpenAiError {
  return new OpenAiError({
    status: 409,
    message: 'Another strict OpenAI stream is already active for this session',
    param: 'x-session-id',
    code: 'session_busy',
  });
}

function matched(callIds: readonly string[], results: readonly ToolResult[]): readonly ToolResult[] {
  const given = Map.groupBy(results, ({ id }) => id);
  const contradicting = [...given].filter(([, same]) => new Set(same.map(({ content }) => content)).size > 1);
  refuseAny(
    'Duplicate tool results for tool_call_id(s)',
    contradicting.map(([id]) => id),
  );
  refuseAny(
    'Missing tool results for tool_call_id(s)',
    callIds.filter((id) => !given.has(id)),
  );
  const pending = new Set(callIds);
  refuseAny(
    'Unknown tool_call_id(s) not in pending requirements',
    [...given.keys()].filter((id) => !pending.has(id)),
  );
  const inOrder = callIds.flatMap((id) => given.get(id)?.slice(0, 1) ?? []);
  const large = inOrder.find(({ content }) => Buffer.byteLength(content) > maxResultBytes);
  if (large !== undefined) throw refusal(`Tool result for ${large.id} exceeds ${maxResultBytes} bytes`);
  return inOrder;
}

function refuseAny(problem: string, ids: readonly string[]): void {
  if (ids.length > 0) throw refusal(`${problem}: ${ids.toSorted().join(', ')}`);
}

function refusal(message: string, param = 'messages'): OpenAiError {
  return new OpenAiError({ status: 400, message, param });
}
