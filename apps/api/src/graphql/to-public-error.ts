import { GraphQLError, type GraphQLFormattedError } from 'graphql';

import { AppError, defined, type Logger, toCallerError } from '#platform';
import { errorRowOf, isExpected } from '#platform/api';

/** The destination of an error, and the log that receives unexpected errors. */
export interface ErrorContext {
  readonly requestId: string;
  readonly logger: Logger;
}

const suggestion = / ?Did you mean .+\?/gs;

/**
 * An error as callers read it: expected failures speak for themselves, mistakes in the document are explained without
 * naming what else there is, and everything else is `INTERNAL` and logged. Always with `code`, `retryable` and `requestId`.
 */
export function toPublicError(error: GraphQLError, { requestId, logger }: ErrorContext): GraphQLFormattedError {
  const where = {
    ...defined({ locations: error.locations, path: error.path }),
  };
  const cause = rootCause(error);
  if (isExpected(cause)) return { message: cause.message, ...where, extensions: { ...extensionsOf(cause), requestId } };
  // An error of a field has a path; without a path, the request itself is invalid.
  if (error.path === undefined && !(cause instanceof AppError) && (cause === error || cause instanceof GraphQLError)) {
    const message = error.message.replace(suggestion, '');
    return { message, ...where, extensions: { ...ownExtensions(error), retryable: false, requestId } };
  }
  logger.error({ err: cause, requestId, path: error.path?.join('.') }, 'a GraphQL field failed');
  return { message: 'Internal error', ...where, extensions: { code: 'INTERNAL', retryable: true, requestId } };
}

/** An error thrown before anything ran, such as missing credentials, in GraphQL's shape. */
export function toRequestError(thrown: unknown): GraphQLError {
  if (thrown instanceof GraphQLError) return thrown;
  const originalError = thrown instanceof Error ? thrown : new Error(String(thrown));
  return new GraphQLError(originalError.message, { originalError });
}

/** The HTTP status of a request that was refused as a whole. */
export function statusOf(error: GraphQLError): number {
  const cause = rootCause(error);
  if (isExpected(cause)) return errorRowOf(cause.code).status;
  return cause === error || cause instanceof GraphQLError ? 400 : 500;
}

function extensionsOf(error: AppError): Record<string, unknown> {
  return {
    code: errorRowOf(error.code).graphql,
    reason: error.code,
    retryable: error.retryable,
    ...defined({ field: error.field, retryAfterSeconds: error.retryAfterSeconds }),
    ...limitOf(error),
  };
}

/** Removes what only Apollo Server reads (`http`), and replaces its code BAD_REQUEST with ours. */
function ownExtensions({ extensions }: GraphQLError): Record<string, unknown> {
  const { code } = extensions;
  const shown = Object.entries(extensions).filter(([name]) => name !== 'http');
  return {
    ...Object.fromEntries(shown),
    code: code === undefined || code === 'BAD_REQUEST' ? 'BAD_USER_INPUT' : code,
  };
}

/** The fields that name a reached limit. */
function limitOf({ details }: AppError): Record<string, unknown> {
  const { limit, limitValue, raisedBy } = details;
  return limit === undefined ? {} : { limit, limitValue, raisedBy };
}

/** The error that a resolver threw: graphql-js wraps it, sometimes twice. */
function rootCause(error: GraphQLError): unknown {
  let cause: unknown = error;
  while (cause instanceof GraphQLError && cause.originalError != null) cause = cause.originalError;
  return toCallerError(cause);
}
