import type { ErrorHandling } from '../definition/node-fields.js';
import type { NodeError } from '../engine/node-run.js';

/** What an attempt ended with, and how many came before. */
export interface FailedAttempt {
  readonly error: NodeError;
  /** Trying again would give the same. */
  readonly isFinal: boolean;
  /** Retries used so far. */
  readonly retries: number;
}

/** Ms until the next attempt; null: there is none. What the provider asks for counts more than our own backoff, up to `maxDelay`. */
export function nextRetryMs({ retry }: ErrorHandling, { error, isFinal, retries }: FailedAttempt): number | null {
  const { maxRetries, baseDelay, maxDelay, retryOn, skipOn } = retry;
  if (isFinal || retries >= maxRetries || skipOn.includes(error.code)) return null;
  if (retryOn.length > 0 && !retryOn.includes(error.code)) return null;
  return Math.min(error.rateLimit?.retryAfterMs ?? baseDelay * 2 ** retries, maxDelay);
}

/** The error with the story of its retries, once no more will follow. `earlier`: what the attempts before it ended with. */
export function withRetries(error: NodeError, { retry }: ErrorHandling, earlier: readonly NodeError[]): NodeError {
  const history = [...earlier, error].map(({ code, message }, index) => ({ attempt: index + 1, code, message }));
  return { ...error, retry: { attempts: history.length, maxAttempts: retry.maxRetries + 1, history } };
}
