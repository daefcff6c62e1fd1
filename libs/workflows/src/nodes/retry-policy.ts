import type { ErrorHandling } from '../definition/node-fields.js';
import type { NodeError } from '../engine/node-run.js';

/** The failure of an attempt, and how many retries came before it. */
export interface FailedAttempt {
  readonly error: NodeError;
  /** A retry would fail in the same way. */
  readonly isFinal: boolean;
  /** Retries used so far. */
  readonly retries: number;
}

/** Ms until the next attempt; null: there is none. The provider's Retry-After replaces our own backoff, up to `maxDelay`. */
export function nextRetryMs({ retry }: ErrorHandling, { error, isFinal, retries }: FailedAttempt): number | null {
  const { maxRetries, baseDelay, maxDelay, retryOn, skipOn } = retry;
  if (isFinal || retries >= maxRetries || skipOn.includes(error.code)) return null;
  if (retryOn.length > 0 && !retryOn.includes(error.code)) return null;
  return Math.min(error.rateLimit?.retryAfterMs ?? baseDelay * 2 ** retries, maxDelay);
}

/** Adds the history of the retries to an error that is not retried again. `earlier`: the errors of the earlier attempts. */
export function withRetryHistory(error: NodeError, { retry }: ErrorHandling, earlier: readonly NodeError[]): NodeError {
  const history = [...earlier, error].map(({ code, message }, index) => ({ attempt: index + 1, code, message }));
  return { ...error, retry: { attempts: history.length, maxAttempts: retry.maxRetries + 1, history } };
}
