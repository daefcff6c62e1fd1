import { type ArgumentsHost, Catch, type ExceptionFilter, HttpException, Inject } from '@nestjs/common';
import type { Request, Response } from 'express';

import { RefusedField } from '#auth/api';
import { AppError, Config, defined, LOGGER, type Logger, type Storable, toCallerError, toStorable } from '#platform';
import { errorRowOf, isExpected, tooLarge } from '#platform/api';

import { RefusalDelay } from '../refusals/refusal-delay.js';
import { requestIdOf } from './request-id.js';
import { isOpenAiPath, reasonOf, toOpenAiReply } from './to-openai-reply.js';

/** Writes every error of the REST endpoints in one shape. GraphQL errors pass through: Apollo and graphql-ws format their own. A refused field gets its result. */
@Catch()
export class ErrorFilter implements ExceptionFilter {
  constructor(
    private readonly config: Config,
    private readonly refusals: RefusalDelay,
    @Inject(LOGGER) private readonly logger: Logger,
  ) {}

  catch(thrown: unknown, host: ArgumentsHost): unknown {
    if (host.getType<string>() !== 'http') return thrown instanceof RefusedField ? thrown.result : thrown;
    const http = host.switchToHttp();
    const response = http.getResponse<Response>();
    const requestId = requestIdOf(response);
    const context = { requestId, maxBodyBytes: this.config.values.MAX_BODY_BYTES };
    const request = http.getRequest<Request>();
    const reply = isOpenAiPath(request.path) ? toOpenAiReply(thrown, context) : toErrorReply(thrown, context);
    if (reply.unexpected !== undefined) this.logger.error({ err: reply.unexpected, requestId }, 'a request failed');
    if (response.headersSent) {
      // A part of the response is already sent. Closing the connection shows the client that the response is incomplete.
      response.destroy();
      return undefined;
    }
    const send = () => {
      response.status(reply.status).set(reply.headers).json(reply.body);
    };
    this.refusals.respond({ request, response, status: reply.status, send });
    return undefined;
  }
}

/** An error as REST callers read it. */
interface ErrorReply {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: {
    readonly error: string;
    readonly code: string;
    /** Whether the same request may succeed later without a change. */
    readonly retryable: boolean;
    readonly requestId: string;
    readonly field?: string;
  };
  /** The thrown value, when it is a bug or an outage that operators must see. */
  readonly unexpected?: unknown;
}

/** Turns any thrown value into a response. Only expected errors expose their own message; all others become `internal`. */
export function toErrorReply(thrown: unknown, context: { requestId: string; maxBodyBytes: number }): ErrorReply {
  const { requestId } = context;
  const error = thrown instanceof HttpException ? fromFramework(thrown, context.maxBodyBytes) : toCallerError(thrown);
  if (!isExpected(error)) {
    return {
      status: 500,
      headers: {},
      body: { error: 'Internal error', code: 'internal', retryable: true, requestId },
      unexpected: thrown,
    };
  }
  return {
    status: errorRowOf(error.code).status,
    headers: headersOf(error),
    body: {
      ...publicDetails(error),
      error: error.message,
      code: error.code,
      retryable: error.retryable,
      requestId,
      ...defined({ field: error.field }),
    },
  };
}

function headersOf({ code, retryAfterSeconds, details }: AppError): Record<string, string> {
  const { limitValue } = details; // absent for other codes
  return {
    ...(retryAfterSeconds === undefined ? {} : { 'Retry-After': String(retryAfterSeconds) }),
    ...(code === 'rate_limited' && typeof limitValue === 'number'
      ? { 'X-RateLimit-Limit': String(limitValue), 'X-RateLimit-Remaining': '0' }
      : {}),
  };
}

/** The fields that clients get next to an error (`callStatus`, `issues` …). */
function publicDetails({ details }: AppError): Record<string, Storable> {
  return Object.fromEntries(Object.entries(details).map(([name, value]) => [name, toStorable(value)]));
}

/** Maps the rejections that Express and Nest throw themselves, such as an unknown route or a path that cannot be decoded. */
function fromFramework(exception: HttpException, maxBodyBytes: number): AppError | HttpException {
  const status = exception.getStatus();
  switch (status) {
    case 404:
      return new AppError({ code: 'not_found', message: 'Not found' });
    case 405:
      return new AppError({ code: 'method_not_allowed', message: 'Method not allowed' });
    case 413:
      return tooLarge(maxBodyBytes);
    case 415:
      return new AppError({ code: 'unsupported_media_type', message: 'Unsupported encoding of the request body' });
    default:
      return status >= 400 && status < 500
        ? new AppError({ code: 'bad_request', message: reasonOf(exception) })
        : exception;
  }
}
