/** An hour date has nothing to do with a model call; larger values are shown as this one. */
const MAX_SHOWN_SECONDS = 86_400;

/** Reads `Retry-After` (RFC 9110, section 10.2.3): seconds or an HTTP date. `nowMs` is wall time. Garbage reads as undefined. */
export function parseRetryAfter(header: string | undefined, nowMs: number): number | undefined {
  const text = header?.trim() ?? '';
  if (text === '') return undefined;
  const seconds = /^\d+(?:\.\d+)?$/.test(text) ? Number(text) : (Date.parse(text) - nowMs) / 1_000;
  return Number.isFinite(seconds) ? Math.min(MAX_SHOWN_SECONDS, Math.max(0, Math.ceil(seconds))) : undefined;
}

/** How retries are spaced. */
export interface RetryPolicy {
  readonly backoffMs: number;
  readonly maxRetryAfterMs: number;
  readonly random: () => number;
}

/**
 * How long to wait before retry number `retry` (0 is the first). Honors the server's Retry-After up to the cap, plus up to 10 % so
 * that clients rejected together do not return together; else exponential backoff, spread by +-25 %.
 */
export function retryDelayMs(retry: number, retryAfterSeconds: number | undefined, policy: RetryPolicy): number {
  const { backoffMs, maxRetryAfterMs, random } = policy;
  if (retryAfterSeconds !== undefined)
    return Math.min(maxRetryAfterMs, retryAfterSeconds * 1_000) * (1 + random() * 0.1);
  return backoffMs * 2 ** retry * (0.75 + random() * 0.5);
}
