import { Inject, Injectable, type OnModuleInit } from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import type { Request, Response } from 'express';
import { GraphQLError, OperationTypeNode } from 'graphql';

import { LOGGER, type Logger } from '#platform';

import { credentialsOf } from '../auth/credentials-of.js';
import { readBody } from '../body/read-body.js';
import { requestIdOf } from '../errors/request-id.js';
import { ContextFactory } from './context-factory.js';
import { GraphqlExecutor } from './documents/graphql-executor.js';
import type { GraphqlRequest } from './documents/prepare-operation.js';
import { statusOf, toPublicError, toRequestError } from './to-public-error.js';

const modern = 'application/graphql-response+json';
const nothingToClose = () => undefined;

/**
 * GraphQL over HTTP (GraphQL-over-HTTP, September 2025 draft): POST with JSON only, one operation a request. A body of another
 * type is refused, which is also what keeps other sites' forms out.
 */
@Injectable()
export class GraphqlHttpDoor implements OnModuleInit {
  constructor(
    private readonly adapterHost: HttpAdapterHost,
    private readonly contexts: ContextFactory,
    private readonly executor: GraphqlExecutor,
    @Inject(LOGGER) private readonly logger: Logger,
  ) {}

  onModuleInit(): void {
    // Straight on the server: no controller could do anything here but forward.
    this.adapterHost.httpAdapter.all('/graphql', (request: Request, response: Response) => {
      void this.answer(request, response);
    });
  }

  private async answer(request: Request, response: Response): Promise<void> {
    if (request.method !== 'POST') {
      response.setHeader('Allow', 'POST');
      this.refuse(response, [new GraphQLError('GraphQL is served by POST')], 405);
      return;
    }
    if (!request.is('application/json')) {
      this.refuse(response, [new GraphQLError('Send the request as application/json')], 415);
      return;
    }
    try {
      const who = await this.contexts.enter(credentialsOf(request.headers));
      await readBody(request, who.identity.userId);
      const prepared = await this.executor.prepare(toGraphqlRequest(request.body), who.identity.userId);
      if (!('operation' in prepared)) {
        this.refuse(response, prepared, isModern(request) ? 400 : 200);
        return;
      }
      const { operation } = prepared.operation;
      if (operation === OperationTypeNode.SUBSCRIPTION)
        throw new GraphQLError('Subscriptions are served over WebSocket');
      const context = this.contexts.make(who, { requestId: requestIdOf(response), close: nothingToClose });
      const { data, errors } = await this.executor.run(prepared, context);
      if (data === undefined) {
        this.refuse(response, errors ?? [], isModern(request) ? 400 : 200);
        return;
      }
      const body = { ...(errors === undefined ? {} : { errors: this.publicOnes(response, errors) }), data };
      send(response, 200, this.executor.textOf(who.identity.userId, body));
    } catch (error) {
      const refused = toRequestError(error);
      this.refuse(response, [refused], statusOf(refused));
    }
  }

  private refuse(response: Response, errors: readonly GraphQLError[], status: number): void {
    send(response, status, JSON.stringify({ errors: this.publicOnes(response, errors) }));
  }

  private publicOnes(response: Response, errors: readonly GraphQLError[]) {
    const context = { requestId: requestIdOf(response), logger: this.logger };
    return errors.map((error) => toPublicError(error, context));
  }
}

/** Reads the members of a request. Throws a GraphQLError that says what is missing. */
export function toGraphqlRequest(body: unknown): GraphqlRequest {
  if (typeof body !== 'object' || body === null) throw new GraphQLError('The body must be a JSON object');
  if (Array.isArray(body)) throw new GraphQLError('Send one operation a request: batches are not served');
  const { query, operationName, variables } = body as Readonly<Record<string, unknown>>; // members are checked below
  if (typeof query !== 'string') throw new GraphQLError('Missing query');
  if (operationName != null && typeof operationName !== 'string')
    throw new GraphQLError('operationName must be a text');
  if (variables != null && !isRecord(variables)) throw new GraphQLError('variables must be an object');
  return { query, operationName: operationName ?? undefined, variables: variables ?? undefined };
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function isModern(request: Request): boolean {
  return request.headers.accept?.includes(modern) === true;
}

function send(response: Response, status: number, text: string): void {
  const type = response.req.headers.accept?.includes(modern) === true ? modern : 'application/json';
  response.statusCode = status;
  response.setHeader('Content-Type', `${type}; charset=utf-8`);
  response.setHeader('Cache-Control', 'no-store, private');
  response.setHeader('Content-Length', Buffer.byteLength(text));
  response.end(text);
}
