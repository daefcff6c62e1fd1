import { HttpException } from '@nestjs/common';

import { type AppError, toCallerError } from '#platform';
import { errorRowOf, isExpected } from '#platform/api';

import { OpenAiError, type OpenAiErrorBody } from './openai-error.js';

/** An error as callers of `/v1` read it. */
export interface OpenAiReply {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: { readonly error: OpenAiErrorBody };
  /** The thrown value, when it is a bug or an outage that operators must see. */
  readonly unexpected?: unknown;
}

/** Whether a path belongs to the OpenAI API, whose errors have OpenAI's format, also for unknown routes. */
export function isOpenAiPath(path: string): boolean {
  return /^\/v1(\/|$)/i.test(path);
}

/** Turns any thrown value into a response. */
export function toOpenAiReply(thrown: unknown, context: { readonly maxBodyBytes: number }): OpenAiReply {
  const error = toOpenAiError(thrown, context);
  const { status } = error ?? unknownError;
  return {
    status,
    headers: headersOf(error ?? unknownError),
    body: { error: (error ?? unknownError).toBody() },
    ...(error === null ? { unexpected: thrown } : {}),
  };
}

/** Without this header, OpenAI's SDKs retry after every 503. */
function headersOf({ code, retryAfterSeconds }: OpenAiError): Record<string, string> {
  if (retryAfterSeconds !== undefined) return { 'Retry-After': String(retryAfterSeconds) };
  return code === 'job_limit_reached' ? { 'X-Should-Retry': 'false' } : {};
}

const unknownError = new OpenAiError({ status: 500, message: 'Internal error' });

/** Null: the error is unexpected. */
function toOpenAiError(thrown: unknown, { maxBodyBytes }: { readonly maxBodyBytes: number }): OpenAiError | null {
  if (thrown instanceof OpenAiError) return thrown;
  if (thrown instanceof HttpException) return fromFramework(thrown, maxBodyBytes);
  const error = toCallerError(thrown);
  return isExpected(error) ? fromApp(error) : null;
}

/** Seconds to wait before a retry when the error gives no time. */
const defaultRetryAfterSeconds = 5;

function fromApp({ code, message, field, retryAfterSeconds }: AppError): OpenAiError {
  const { status } = errorRowOf(code);
  switch (code) {
    case 'rate_limited':
      return new OpenAiError({
        status: 429,
        message,
        code: 'rate_limit_exceeded',
        retryAfterSeconds: retryAfterSeconds ?? defaultRetryAfterSeconds,
      });
    case 'job_limit_reached':
      // If the limit on stored jobs is reached, no waiting time makes a retry succeed.
      return retryAfterSeconds === undefined
        ? new OpenAiError({ status, message, code })
        : new OpenAiError({ status, message, code: 'server_busy', retryAfterSeconds });
    case 'start_in_flight':
    case 'unavailable':
      return serverBusy(retryAfterSeconds);
    case 'idempotency_key_mismatch':
      return new OpenAiError({
        status: 422,
        message: 'Idempotency-Key was used with a different request body',
        param: 'idempotency-key',
        code,
      });
    case 'bad_request':
      return new OpenAiError({ status, message, param: field ?? null });
    case 'too_large':
      return new OpenAiError({ status: 413, message, param: field ?? null, code: 'request_too_large' });
    default:
      return new OpenAiError({ status, message, param: field ?? null, code });
  }
}

export function serverBusy(retryAfterSeconds: number = defaultRetryAfterSeconds): OpenAiError {
  const message = 'Server busy, try again later';
  return new OpenAiError({ status: 503, message, code: 'server_busy', retryAfterSeconds });
}

/** The reason for a 4xx of Express or Nest that has no code of its own, such as a condition (`If-Match`) that a file does not meet. */
export function reasonOf({ message }: HttpException): string {
  // Express's text for a path such as `/%ff`, whose bytes are not UTF-8.
  return message.startsWith('Failed to decode param') ? 'The path of the URL cannot be decoded' : 'Invalid request';
}

/** Some SDKs call `/v1/responses` by default. */
const UNKNOWN_URL =
  'Unknown request URL. There are POST /v1/chat/completions, GET /v1/models and POST /v1/tools/execute, and no Responses API';

/** Maps the rejections that Express and Nest throw themselves, such as an unknown route or a path that cannot be decoded. */
function fromFramework(exception: HttpException, maxBodyBytes: number): OpenAiError | null {
  const status = exception.getStatus();
  switch (status) {
    case 404:
      return new OpenAiError({ status, message: UNKNOWN_URL, code: 'unknown_url' });
    case 405:
      return new OpenAiError({ status, message: 'Method not allowed' });
    case 413:
      return new OpenAiError({
        status,
        message: `Request body exceeds ${maxBodyBytes} bytes`,
        code: 'request_too_large',
      });
    case 415:
      return new OpenAiError({ status, message: 'Unsupported encoding of the request body' });
    default:
      return status >= 400 && status < 500 ? new OpenAiError({ status: 400, message: reasonOf(exception) }) : null;
  }
}
