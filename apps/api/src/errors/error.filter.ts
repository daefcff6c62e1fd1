import { type ArgumentsHost, Catch, type ExceptionFilter, Inject } from '@nestjs/common';
import type { Request, Response } from 'express';

import { Config, LOGGER, type Logger } from '#platform';

import { RefusalDelay } from '../refusals/refusal-delay.js';
import { requestIdOf } from './request-id.js';
import { toErrorReply } from './to-error-reply.js';
import { isOpenAiPath, toOpenAiReply } from './to-openai-reply.js';

/** Writes every error of the REST endpoints in one shape. GraphQL errors pass through: Apollo and graphql-ws format their own. */
@Catch()
export class ErrorFilter implements ExceptionFilter {
  constructor(
    private readonly config: Config,
    private readonly refusals: RefusalDelay,
    @Inject(LOGGER) private readonly logger: Logger,
  ) {}

  catch(thrown: unknown, host: ArgumentsHost): unknown {
    if (host.getType<string>() !== 'http') return thrown;
    const http = host.switchToHttp();
    const response = http.getResponse<Response>();
    const requestId = requestIdOf(response);
    const context = { requestId, maxBodyBytes: this.config.values.MAX_BODY_BYTES };
    const request = http.getRequest<Request>();
    const reply = isOpenAiPath(request.path) ? toOpenAiReply(thrown, context) : toErrorReply(thrown, context);
    if (reply.unexpected !== undefined) this.logger.error({ err: reply.unexpected, requestId }, 'a request failed');
    if (response.headersSent) {
      // Half a reply cannot be taken back; a broken connection at least does not look like a whole one.
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
