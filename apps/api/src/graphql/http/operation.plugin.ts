import type {
  ApolloServerPlugin,
  GraphQLRequestContext,
  GraphQLRequestContextDidResolveSource,
  GraphQLRequestListener,
  GraphQLResponse,
} from '@apollo/server';
import { Plugin } from '@nestjs/apollo';
import { GraphQLError, OperationTypeNode } from 'graphql';

import type { GraphqlContext } from '#auth/api';

import { GraphqlExecutor } from '../documents/graphql-executor.js';
import type { PreparedOperation } from '../documents/prepare-operation.js';
import { statusOf, toRequestError } from '../to-public-error.js';
import { currentOperation } from './http-operation.js';

type Request = GraphQLRequestContext<GraphqlContext>;

/**
 * Prepares each operation of Apollo Server by `GraphqlExecutor`, as graphql-ws does: the same limits, the same cache of documents. So
 * Apollo Server itself parses and validates nothing; it resolves persisted queries, executes, and writes the response.
 */
@Plugin()
export class OperationPlugin implements ApolloServerPlugin<GraphqlContext> {
  private readonly listener: GraphQLRequestListener<GraphqlContext>;

  constructor(private readonly executor: GraphqlExecutor) {
    this.listener = {
      didResolveSource: (request) => this.prepare(request),
      didResolveOperation: assertPrepared,
      responseForOperation: (request) => this.respond(request),
      willSendResponse: addErrors,
    };
  }

  requestDidStart(): Promise<GraphQLRequestListener<GraphqlContext>> {
    return Promise.resolve(this.listener);
  }

  private async prepare({ source, request }: GraphQLRequestContextDidResolveSource<GraphqlContext>): Promise<void> {
    const operation = currentOperation();
    const { operationName, variables } = request;
    const { userId } = operation.context.identity;
    try {
      const prepared = await this.executor.prepare({ query: source, operationName, variables }, userId);
      const isLive = 'operation' in prepared && prepared.operation.operation === OperationTypeNode.SUBSCRIPTION;
      operation.prepared = isLive ? [new GraphQLError('Subscriptions are served over WebSocket')] : prepared;
    } catch (error) {
      operation.prepared = [toRequestError(error)];
    }
  }

  /** The response of an introspection, which has a budget and a cache; null: Apollo Server executes the operation. */
  private async respond({ contextValue, response }: Request): Promise<GraphQLResponse | null> {
    const operation = currentOperation();
    const prepared = operation.prepared as PreparedOperation; // `assertPrepared` has run before
    if (!prepared.valid.introspects) return null;
    const { errors, ...result } = await this.executor.run(prepared, contextValue);
    const shown = errors?.map((error) => operation.toPublicError(error));
    const singleResult = shown === undefined ? result : { ...result, errors: shown };
    return { http: response.http, body: { kind: 'single', singleResult } };
  }
}

/** Rejects with the first reason why the operation must not run. */
function assertPrepared({ response }: Request): Promise<void> {
  const { prepared, hasStatuses } = currentOperation();
  const [refused] = prepared === undefined || 'operation' in prepared ? [] : prepared;
  if (refused === undefined) return Promise.resolve();
  // GraphQL over HTTP, section 6.4: a valid request gets 200 as application/json, even if its document is refused.
  const status = statusOf(refused);
  response.http.status = status === 400 && !hasStatuses ? 200 : status;
  return Promise.reject(refused);
}

/** Adds the other errors of a refused document: Apollo Server sends only the one that a hook throws. */
function addErrors({ response }: Request): Promise<void> {
  const operation = currentOperation();
  const errors = operation.prepared === undefined || 'operation' in operation.prepared ? [] : operation.prepared;
  if (errors.length > 1 && response.body?.kind === 'single') {
    const shown = errors.map((error) => operation.toPublicError(error));
    response.body.singleResult = { ...response.body.singleResult, errors: shown };
  }
  return Promise.resolve();
}
