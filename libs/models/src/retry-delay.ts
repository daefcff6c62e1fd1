/** A day: larger values are reported as this one. */
const MAX_SHOWN_SECONDS = 86_400;

/** Reads `Retry-After` (RFC 9110, section 10.2.3): seconds or an HTTP date. `nowMs` is wall time. Returns undefined for invalid text. */
export function parseRetryAfter(header: string | undefined, nowMs: number): number | undefined {
  const text = header?.trim() ?? '';
  if (text === '') return undefined;
  const seconds = /^\d+(?:\.\d+)?$/.test(text) ? Number(text) : (Date.parse(text) - nowMs) / 1_000;
  return Number.isFinite(seconds) ? Math.min(MAX_SHOWN_SECONDS, Math.max(0, Math.ceil(seconds))) : undefined;
}
