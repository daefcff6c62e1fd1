import { defined, parseJson, Redactor, type Secret, toStorableText } from '#platform';

import { ModelError, type ModelErrorCode } from './model/models.errors.js';

/** Maximum characters of the provider's text in an error. */
const MAX_PROVIDER_TEXT = 200;

/** A failure as the provider reports it: HTTP status, error code and text. */
export interface ProviderFailure {
  readonly status?: number;
  readonly text: string;
  readonly providerCode?: string;
  readonly afterFirstByte: boolean;
  readonly retryAfterSeconds?: number;
}

interface Verdict {
  readonly code: ModelErrorCode;
  readonly retryable: boolean;
  readonly message: string;
}

const refused: Verdict = {
  code: 'model_bad_request',
  retryable: false,
  message: 'The model provider refused the request.',
};
const unauthorized: Verdict = {
  code: 'model_unauthorized',
  retryable: false,
  message: 'The model provider does not accept the API key, or its budget is used up. Check the key.',
};
const rateLimited: Verdict = {
  code: 'model_rate_limited',
  retryable: true,
  message: 'The model provider asks for fewer requests. Try again later.',
};
const unavailable: Verdict = {
  code: 'model_unavailable',
  retryable: true,
  message: 'The model provider has a problem. Try again later.',
};
const timedOut: Verdict = { code: 'model_timeout', retryable: true, message: 'The model provider took too long.' };
const unknown: Verdict = { code: 'model_error', retryable: true, message: 'The model provider reported an error.' };

/**
 * The error of a call for which the provider reported a failure. The provider's text is redacted, cut to 200 characters, and also kept in `details`.
 */
export function providerFailed(failure: ProviderFailure, apiKey: Secret | null): ModelError {
  const verdict = toVerdict(failure);
  const shown = toShownText(failure.text, apiKey);
  const { status, retryAfterSeconds, afterFirstByte } = failure;
  return new ModelError({
    ...verdict,
    message: shown === '' ? verdict.message : `${verdict.message} The provider's message: ${shown}`,
    afterFirstByte,
    ...defined({ status, retryAfterSeconds }),
    details: { ...defined({ status }), ...(shown === '' ? {} : { providerText: shown }) },
  });
}

/** Reads an error object in any of the known formats: OpenAI's error object, a plain text, or a status as number or text. */
export function readFailure(error: unknown): {
  readonly text: string;
  readonly status?: number;
  readonly providerCode?: string;
} {
  if (typeof error === 'string') return { text: error };
  if (typeof error !== 'object' || error === null) return { text: '' };
  const { message, code, type, status, metadata } = error as Record<string, unknown>; // each member is checked before use
  const text = typeof message === 'string' ? message : typeof metadata === 'string' ? metadata : '';
  const number = [status, code].map(Number).find((value) => Number.isInteger(value) && value >= 400 && value <= 599);
  const providerCode = [code, type].find(
    (value): value is string => typeof value === 'string' && value !== '' && Number.isNaN(Number(value)),
  );
  return {
    text,
    ...defined({ status: number, providerCode }),
  };
}

/** Reads the error text from the body of an HTTP response: the message of its error object, or its beginning if the body is not JSON. */
export function readFailureBody(body: string): ReturnType<typeof readFailure> {
  try {
    const value: unknown = parseJson(body);
    const first: unknown = Array.isArray(value) ? value[0] : value; // Google's endpoint sends the error object in a list
    if (typeof first !== 'object' || first === null) return { text: '' };
    const { error, message, detail } = first as Record<string, unknown>; // passed on as `unknown`
    return readFailure(
      error ?? (typeof message === 'string' ? message : typeof detail === 'string' ? detail : undefined),
    );
  } catch {
    return { text: /^\s*</.test(body) ? '' : body };
  }
}

function toVerdict({ status, providerCode = '' }: ProviderFailure): Verdict {
  // A used-up quota is reported as 429, but waiting does not restore it.
  if (providerCode === 'insufficient_quota') return unauthorized;
  if (status === undefined) return toVerdictOfCode(providerCode);
  if (status === 401 || status === 402 || status === 403) return unauthorized;
  if (status === 429) return rateLimited;
  if (status === 408) return timedOut;
  if (status === 425 || status === 409 || status >= 500) return unavailable;
  return refused;
}

function toVerdictOfCode(code: string): Verdict {
  if (/rate_?limit|too_many/i.test(code)) return rateLimited;
  if (/overloaded|unavailable|server_error|internal/i.test(code)) return unavailable;
  if (/timeout/i.test(code)) return timedOut;
  if (/auth|api_key|permission/i.test(code)) return unauthorized;
  if (/invalid|context_length|not_found|content_filter/i.test(code)) return refused;
  return unknown;
}

function toShownText(text: string, apiKey: Secret | null): string {
  // The text is redacted before it is cut, because a half key would not be recognized.
  const redacted = new Redactor(apiKey === null ? [] : [apiKey])
    .redact(text.slice(0, 4_096))
    .replace(/\s+/g, ' ')
    .trim();
  return toStorableText(redacted.slice(0, MAX_PROVIDER_TEXT));
}

/** A day: larger values are reported as this one. */
const MAX_SHOWN_SECONDS = 86_400;

/** Reads `Retry-After` (RFC 9110, section 10.2.3): seconds or an HTTP date. `nowMs` is wall time. Returns undefined for invalid text. */
export function parseRetryAfter(header: string | undefined, nowMs: number): number | undefined {
  const text = header?.trim() ?? '';
  if (text === '') return undefined;
  const seconds = /^\d+(?:\.\d+)?$/.test(text) ? Number(text) : (Date.parse(text) - nowMs) / 1_000;
  return Number.isFinite(seconds) ? Math.min(MAX_SHOWN_SECONDS, Math.max(0, Math.ceil(seconds))) : undefined;
}
