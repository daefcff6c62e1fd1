import type { ChatMessage } from '#models';

import type { OpenAiError } from '../openai-error.js';

/** A result that a client sent. */
export interface ToolResult {
  readonly id: string;
  readonly content: string;
}

/** What a request says about calls that it may be the answer to. */
export interface Continuation {
  /** The results that count, as sent: an id may be there twice. */
  readonly results: readonly ToolResult[];
  /** What is said beside them, in its order. */
  readonly after: readonly ChatMessage[];
  /** Whether the request ends with results: then it can be nothing else. */
  readonly endsWithResults: boolean;
  /** SHA-256 (hex) of ids and contents, whatever their order. */
  readonly digest: string;
}

/** A run that waits for its client. */
export interface PendingRun {
  /** What it may be called: the model that was asked for, and the agent that answers. */
  readonly models: readonly string[];
  readonly callIds: readonly string[];
}

/** What a continuation is checked against. */
export interface ContinuationQuestion {
  /** Another answer of the session is being made. */
  readonly isBusy: boolean;
  /** Null: nothing waits for the client. */
  readonly pending: PendingRun | null;
  readonly model: string;
  readonly continuation: Continuation;
}

/** Start something new, or settle these calls. */
export type ContinuationAnswer =
  | { readonly type: 'new' }
  | { readonly type: 'continue'; readonly results: readonly ToolResult[]; readonly after: readonly ChatMessage[] }
  | { readonly type: 'refused'; readonly error: OpenAiError };

/** Pure. */
export function readContinuation(messages: readonly ChatMessage[]): Continuation {
  return { results: [], after: messages, endsWithResults: false, digest: '' };
}

/** Every rule before anything is applied, in the order of the contract. Pure. */
export function checkContinuation({ continuation }: ContinuationQuestion): ContinuationAnswer {
  return continuation.endsWithResults ? { type: 'new' } : { type: 'new' };
}
