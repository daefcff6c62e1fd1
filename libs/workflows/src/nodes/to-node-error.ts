import { ModelError, type ModelErrorCode } from '#models';
import { AppError, defined, type OutboundErrorCode, toStorableText } from '#platform';

import { NodeFailure } from '../engine/node-executor.js';
import type { NodeError, NodeErrorCode } from '../engine/node-run.js';

const longestMessage = 2_000;

/** The message for unexpected failures. Their own text may contain data that the reader must not see. */
const UNEXPECTED = 'The node failed for an unexpected reason';

/** Converts any thrown value to the error that the node run reports: with a code for retries, and without a stack. Never throws. */
export function toNodeError(thrown: unknown, nodeId: string): NodeError {
  const statusCode = statusOf(thrown);
  const retryAfterMs = retryAfterOf(thrown);
  return {
    message: shownMessage(thrown),
    code: codeOf(thrown, statusCode),
    nodeId,
    ...defined({ statusCode }),
    ...(retryAfterMs === undefined ? {} : { rateLimit: { retryAfterMs } }),
  };
}

/** Returns whether a retry would fail in the same way. */
export function isFinalFailure(thrown: unknown): boolean {
  if (thrown instanceof NodeFailure) return thrown.details.isFinal === true;
  return thrown instanceof AppError && hookCodes.has(thrown.code);
}

/** A failure that a retry cannot fix, with the code for its message. */
export function refusal(message: string): NodeFailure {
  return new NodeFailure(message, codeOfMessage(message), { isFinal: true });
}

/** The code for the status of a response; undefined: the status is not one of a failure. */
export function codeOfStatus(status: number): NodeErrorCode | undefined {
  if (status === 429) return 'RATE_LIMIT';
  if (status === 401 || status === 403) return 'AUTH';
  if (status === 408 || status === 504) return 'TIMEOUT';
  if (status >= 400 && status <= 499) return 'VALIDATION';
  return status >= 500 && status <= 599 ? 'LLM_ERROR' : undefined;
}

const codesOfMessages: readonly (readonly [NodeErrorCode, readonly string[]])[] = [
  ['RATE_LIMIT', ['rate limit', '429']],
  ['TIMEOUT', ['timeout', 'timed out']],
  ['AUTH', ['unauthorized', '401', '403']],
  ['NETWORK', ['network', 'fetch', 'econnrefused']],
  ['VALIDATION', ['validation', 'invalid']],
];

/** The code for words in a message; the first match counts. */
export function codeOfMessage(message: string): NodeErrorCode {
  const text = message.toLowerCase();
  return codesOfMessages.find(([, words]) => words.some((word) => text.includes(word)))?.[0] ?? 'UNKNOWN';
}

/** Our own errors are recognized by their code, because their texts are for people. */
const codesOfModelErrors: Readonly<Record<ModelErrorCode, NodeErrorCode>> = {
  model_unauthorized: 'AUTH',
  model_rate_limited: 'RATE_LIMIT',
  model_unavailable: 'NETWORK',
  model_connection_refused: 'NETWORK',
  model_host_not_found: 'NETWORK',
  model_tls_failed: 'NETWORK',
  model_timeout: 'TIMEOUT',
  model_stream_broken: 'NETWORK',
  model_bad_request: 'VALIDATION',
  model_answer_too_large: 'LLM_ERROR',
  model_url_refused: 'VALIDATION',
  model_error: 'LLM_ERROR',
};

const codesOfOutboundErrors: Readonly<Record<OutboundErrorCode, NodeErrorCode>> = {
  address_refused: 'VALIDATION',
  outbound_url_refused: 'VALIDATION',
  outbound_host_refused: 'VALIDATION',
  outbound_port_refused: 'VALIDATION',
  outbound_redirect_refused: 'VALIDATION',
  outbound_request_invalid: 'VALIDATION',
  outbound_timeout: 'TIMEOUT',
  outbound_unreachable: 'NETWORK',
  outbound_broken: 'NETWORK',
  outbound_too_large: 'VALIDATION',
};

/** A plugin hook denied a model call of the node, or failed. A retry would end in the same way. */
const codesOfHooks = { hook_denied: 'hook_denied', hook_failed: 'hook_failed' } as const satisfies Readonly<
  Record<string, NodeErrorCode>
>;
const hookCodes: ReadonlySet<string> = new Set(Object.keys(codesOfHooks));

/** Reads the code of an error that wraps another, whatever its class is. */
const codesOfErrors: ReadonlyMap<string, NodeErrorCode> = new Map([
  ...Object.entries(codesOfModelErrors),
  ...Object.entries(codesOfOutboundErrors),
  ...Object.entries(codesOfHooks),
  ['missing_model_key', 'AUTH'],
  ['forbidden', 'AUTH'],
  ['bad_request', 'VALIDATION'],
  ['invalid_arguments', 'VALIDATION'],
  ['invalid_schema', 'VALIDATION'],
  ['too_large', 'VALIDATION'],
  ['rate_limited', 'RATE_LIMIT'],
]);

function codeOf(thrown: unknown, status: number | undefined): NodeErrorCode {
  if (thrown instanceof NodeFailure) return thrown.code;
  const byStatus = status === undefined ? undefined : codeOfStatus(status);
  const byCode = thrown instanceof AppError ? codesOfErrors.get(thrown.code) : undefined;
  return byStatus ?? byCode ?? codeOfMessage(messageOf(thrown));
}

function messageOf(thrown: unknown): string {
  return thrown instanceof Error ? thrown.message : typeof thrown === 'string' ? thrown : '';
}

function shownMessage(thrown: unknown): string {
  const isOurs = thrown instanceof NodeFailure || thrown instanceof AppError;
  const text = isOurs ? toStorableText(thrown.message) : '';
  if (text === '') return UNEXPECTED;
  return text.length <= longestMessage ? text : `${text.slice(0, longestMessage).toWellFormed()}…`;
}

function statusOf(thrown: unknown): number | undefined {
  if (thrown instanceof NodeFailure) return thrown.details.statusCode;
  if (thrown instanceof ModelError) return thrown.status;
  if (typeof thrown !== 'object' || thrown === null) return undefined;
  const status: unknown = 'statusCode' in thrown ? thrown.statusCode : 'status' in thrown ? thrown.status : undefined;
  return typeof status === 'number' && codeOfStatus(status) !== undefined ? status : undefined;
}

function retryAfterOf(thrown: unknown): number | undefined {
  if (thrown instanceof NodeFailure) return thrown.details.retryAfterMs;
  const seconds = thrown instanceof AppError ? thrown.retryAfterSeconds : undefined;
  return seconds === undefined ? undefined : Math.max(0, seconds) * 1_000;
}
