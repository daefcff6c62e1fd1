import { Inject, Injectable, type NestMiddleware } from '@nestjs/common';
import type { NextFunction, Request, Response } from 'express';
import type { GraphQLError } from 'graphql';

import { credentialsOf, markAuthenticated } from '#auth/api';
import { AppError, Config, LOGGER, type Logger } from '#platform';
import { readBody } from '#platform/api';

import { requestIdOf } from '../../errors/request-id.js';
import { RefusalDelay } from '../../refusals/refusal-delay.js';
import { ContextFactory } from '../context-factory.js';
import { GraphqlExecutor } from '../documents/graphql-executor.js';
import { statusOf, toPublicError, toRequestError } from '../to-public-error.js';
import { allowExplorer, wantsExplorer } from './explorer.plugin.js';
import { type HttpOperation, runOperation } from './http-operation.js';

const modern = 'application/graphql-response+json';
const mediaTypes = ['application/json', modern] as const;
const nothingToClose = () => undefined;

/**
 * Runs before Apollo Server on `/graphql`: authenticates the request, then reads its body within the limits of every body, and
 * creates the context of the operation. Apollo Server has no body parser of its own. Browsers get the explorer without a credential.
 */
@Injectable()
export class GraphqlHttpMiddleware implements NestMiddleware {
  constructor(
    private readonly contexts: ContextFactory,
    private readonly executor: GraphqlExecutor,
    private readonly refusals: RefusalDelay,
    private readonly config: Config,
    @Inject(LOGGER) private readonly logger: Logger,
  ) {}

  async use(request: Request, response: Response, next: NextFunction): Promise<void> {
    // Express also routes every path below `/graphql` here.
    if (request.path !== '/') {
      next(new AppError({ code: 'not_found', message: 'Not found' }));
      return;
    }
    if (this.config.values.GRAPHQL_EXPLORER && wantsExplorer(request)) {
      allowExplorer(response);
      next();
      return;
    }
    try {
      assertJson(request);
      assertAcceptable(request);
      const operation = await this.open(request, response);
      response.once('close', () => {
        operation.context.end();
      });
      runOperation(operation, next);
    } catch (error) {
      this.refuse(response, toRequestError(error));
    }
  }

  private async open(request: Request, response: Response): Promise<HttpOperation> {
    const who = await this.contexts.enter(credentialsOf(request.headers));
    const { userId, workspaceId } = who.identity;
    markAuthenticated(request, userId);
    await readBody(request, userId);
    const requestId = requestIdOf(response);
    const context = this.contexts.make(who, { req: request, requestId, close: nothingToClose });
    const toShown = (error: GraphQLError) => toPublicError(error, { requestId, logger: this.logger });
    return {
      context,
      tenant: workspaceId ?? userId,
      hasStatuses: isModern(request),
      toPublicError: toShown,
      toText: (result) => this.executor.textOf(userId, result, (error) => ({ errors: [toShown(error)] })),
      allowedDocument: (id) => this.executor.allowedDocument(id),
    };
  }

  /** Responds without Apollo Server, which would answer some of these requests before the caller is known. */
  private refuse(response: Response, error: GraphQLError): void {
    const shown = toPublicError(error, { requestId: requestIdOf(response), logger: this.logger });
    const text = JSON.stringify({ errors: [shown] });
    const status = statusOf(error);
    const send = () => {
      response.statusCode = status;
      response.setHeader('Content-Type', `${isModern(response.req) ? modern : 'application/json'}; charset=utf-8`);
      response.setHeader('Content-Length', Buffer.byteLength(text));
      response.end(text);
    };
    this.refusals.respond({ request: response.req, response, status, send });
  }
}

/** Rejects other content types, such as forms of other sites and uploads, before the body is read. */
function assertJson(request: Request): void {
  if (request.method !== 'POST' || request.is('application/json')) return;
  throw new AppError({ code: 'unsupported_media_type', message: 'Send the request as application/json' });
}

/** Checks the header before the operation runs: Apollo Server would run a mutation first and then answer 406. */
function assertAcceptable(request: Request): void {
  const { accept } = request.headers;
  if (accept === undefined || accept === '*/*' || request.accepts([...mediaTypes]) !== false) return;
  throw new AppError({ code: 'not_acceptable', message: `Accept ${mediaTypes.join(' or ')}` });
}

function isModern(request: Request): boolean {
  return request.headers.accept?.includes(modern) === true && request.accepts([...mediaTypes]) === modern;
}
