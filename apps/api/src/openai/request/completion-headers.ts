import type { IncomingHttpHeaders } from 'node:http';

import type { AnswerFormat } from '../answer/answer-part.js';

/** What the headers of a completion say. */
export interface CompletionHeaders {
  /** Null: the request does not say. */
  readonly format: AnswerFormat | null;
  /** As `X-Session-Id` gives it. */
  readonly sessionId: string | null;
  /** The conversation's id as front ends send it; for formats other than `openai`. */
  readonly frontEndSessionId: string | null;
  readonly idempotencyKey: string | null;
  readonly onDisconnect: 'continue' | 'cancel';
}

/** Throws `OpenAiError`, and nothing else. Pure. */
export function parseCompletionHeaders(headers: IncomingHttpHeaders): CompletionHeaders {
  throw new Error(`not read yet: ${typeof headers}`);
}
