import { AppError, type AppErrorInit, type FieldProblem } from '#platform';

/** The codes of all failures of a model call. Stable. */
export type ModelErrorCode =
  | 'model_unauthorized'
  | 'model_rate_limited'
  | 'model_unavailable'
  | 'model_connection_refused'
  | 'model_host_not_found'
  | 'model_tls_failed'
  | 'model_timeout'
  | 'model_stream_broken'
  | 'model_bad_request'
  | 'model_answer_too_large'
  | 'model_url_refused'
  | 'model_error';

export interface ModelErrorInit extends AppErrorInit {
  readonly code: ModelErrorCode;
  readonly afterFirstByte: boolean;
  readonly mayRestart?: boolean;
  readonly status?: number;
  readonly isPaused?: boolean;
  readonly isProbed?: boolean;
}

/** A model call failed. `retryable`: whether the same call may succeed later. */
export class ModelError extends AppError {
  override readonly code: ModelErrorCode;
  /** True if the consumer may have received part of the response: the round must restart and discard its text. */
  readonly afterFirstByte: boolean;
  /** Whether the same job may request the round again, with its text discarded. Default: `retryable && afterFirstByte`. */
  readonly mayRestart: boolean;
  /** The HTTP status of the provider's response, if there was one. */
  readonly status: number | undefined;
  /** True if the request was not sent, because requests to this provider are paused after several failures in a row. */
  readonly isPaused: boolean;
  /** True if requests are paused until one that was sent has an outcome. */
  readonly isProbed: boolean;

  constructor(init: ModelErrorInit) {
    super(init);
    this.name = 'ModelError';
    this.code = init.code;
    this.afterFirstByte = init.afterFirstByte;
    this.mayRestart = init.mayRestart ?? (this.retryable && init.afterFirstByte);
    this.status = init.status;
    this.isPaused = init.isPaused ?? false;
    this.isProbed = init.isProbed ?? false;
  }
}

/** Whether the provider could not be used, nothing of a response was received, and the request may succeed later. */
export function isProviderDown(error: unknown): error is ModelError {
  return error instanceof ModelError && error.retryable && !error.afterFirstByte;
}

/**
 * The request was not sent. `code`: the failure that paused the requests. `pauseMs`: how long they are paused from now on. `isProbed`: whether the
 * outcome of a request that was sent ends the pause. Only the job that received the provider's text may show it: workspaces with the same endpoint
 * and key share the pause.
 */
export function requestsPaused(
  code: ModelErrorCode = 'model_unavailable',
  { pauseMs = 0, isProbed = false }: { readonly pauseMs?: number; readonly isProbed?: boolean } = {},
): ModelError {
  return new ModelError({
    code,
    message: 'Several requests to the model provider failed in a row, so requests to it are paused for a moment.',
    retryable: true,
    afterFirstByte: false,
    retryAfterSeconds: pauseMs / 1_000,
    isPaused: true,
    isProbed,
  });
}

/** The response headers or the first bytes did not arrive in time, or the body paused for too long. */
export function modelTimedOut(stage: 'first_byte' | 'idle', afterFirstByte: boolean): ModelError {
  const message =
    stage === 'first_byte'
      ? 'The model provider did not begin to respond in time.'
      : 'The model provider stopped sending in the middle of its response.';
  return new ModelError({ code: 'model_timeout', message, retryable: true, afterFirstByte, details: { stage } });
}

/** The response began and was not completed. */
export function modelStreamBroken(cause?: unknown, afterFirstByte = true): ModelError {
  const message = "The model provider's response ended early or could not be read.";
  return new ModelError({ code: 'model_stream_broken', message, retryable: true, afterFirstByte, cause });
}

/** The connection could not be made, or failed before the response. `cause` is logged; its text is not shown. */
export function modelUnreachable(cause: unknown): ModelError {
  const code = connectionCodeOf(cause);
  return new ModelError({ code, message: connectionMessages[code], retryable: true, afterFirstByte: false, cause });
}

const connectionMessages = {
  model_unavailable:
    'The connection to the model provider failed before it responded. Check the network, or try again later.',
  model_connection_refused:
    'The model provider refused the connection: no server listens on the port of the base URL. Check the base URL, or try again later.',
  model_host_not_found: 'The host name of the model provider cannot be resolved. Check the base URL and the DNS.',
  model_tls_failed:
    'The TLS connection to the model provider failed. Check that the base URL is https and that its certificate is valid.',
} as const satisfies Partial<Record<ModelErrorCode, string>>;

type ConnectionCode = keyof typeof connectionMessages;

/** Node reports TLS failures under the many reason codes of OpenSSL. All of them match this pattern. */
const tlsCodes =
  /^(ERR_TLS|ERR_SSL|EPROTO$|CERT_|DEPTH_ZERO_|SELF_SIGNED_|UNABLE_TO_|HOSTNAME_MISMATCH|INVALID_CA|ERR_OSSL)/;

/** The code of the error in Node, or of an error that caused it or that it contains (an `AggregateError` of several addresses). */
function connectionCodeOf(cause: unknown, depth = 0): ConnectionCode {
  if (typeof cause !== 'object' || cause === null || depth > 5) return 'model_unavailable';
  const { code, cause: inner, errors } = cause as { code?: unknown; cause?: unknown; errors?: unknown };
  if (code === 'ECONNREFUSED') return 'model_connection_refused';
  if (code === 'ENOTFOUND' || code === 'EAI_AGAIN') return 'model_host_not_found';
  if (typeof code === 'string' && tlsCodes.test(code)) return 'model_tls_failed';
  const further: readonly unknown[] = Array.isArray(errors) ? [inner, ...(errors as unknown[])] : [inner];
  for (const one of further) {
    const found = connectionCodeOf(one, depth + 1);
    if (found !== 'model_unavailable') return found;
  }
  return 'model_unavailable';
}

/** The response exceeds one of the `ModelLimits`. */
export function modelAnswerTooLarge(): ModelError {
  const message = "The model provider's response is larger than allowed.";
  return new ModelError({ code: 'model_answer_too_large', message, afterFirstByte: true });
}

/** The base URL is invalid. */
export function baseUrlInvalid(message: string): AppError {
  return new AppError({ code: 'invalid_base_url', message, field: 'baseUrl' });
}

/** The server does not connect to the provider's address. */
export function modelUrlRefused(cause: unknown): ModelError {
  const message = 'The base URL of the model provider points to an address that is not allowed.';
  return new ModelError({ code: 'model_url_refused', message, afterFirstByte: false, cause });
}

/** The key cannot be sent in a header. */
export function modelKeyMalformed(): ModelError {
  const message =
    'The API key of the model provider contains characters that are not allowed in a key. Enter it again.';
  return new ModelError({ code: 'model_unauthorized', message, afterFirstByte: false });
}

/** Neither the request, nor the workspace, nor the installation has a key for a model. */
export function missingModelKey(): AppError {
  return new AppError({ code: 'missing_model_key', message: 'Missing model API key', field: 'providerKey' });
}

/** A field of a provider is invalid. */
export function providerInputInvalid({ path, text }: FieldProblem): AppError {
  const field = String(path[0] ?? 'input');
  return new AppError({ code: 'bad_request', message: `${field}: ${text}`, field });
}

/** Like `modelKeyMalformed`, but thrown when the key is entered. */
export function apiKeyInvalid(): AppError {
  return new AppError({
    code: 'bad_request',
    message: 'apiKey: a key must consist of visible ASCII characters without spaces',
    field: 'apiKey',
  });
}

/** The stored key belongs to another host. */
export function apiKeyNeeded(): AppError {
  const message = 'apiKey: enter the key again, because the base URL has another host';
  return new AppError({ code: 'bad_request', message, field: 'apiKey' });
}

/** The error is the same for an absent provider and for a forbidden one. */
export function providerNotFound(): AppError {
  return new AppError({ code: 'not_found', message: 'Provider not found or unauthorized' });
}

/** The names of a workspace's providers are unique. */
export function providerNameTaken(name: string): AppError {
  return new AppError({
    code: 'conflict',
    message: `A provider named "${name}" already exists. Choose another name.`,
    field: 'name',
  });
}

/** The limit keeps the list of providers short enough to need no pages. */
export function tooManyProviders(limit: number): AppError {
  return new AppError({
    code: 'conflict',
    message: `A workspace can have at most ${limit} providers. Delete one first.`,
  });
}
