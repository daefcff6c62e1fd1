import { Injectable } from '@nestjs/common';
import { GraphQLSchemaHost } from '@nestjs/graphql';
import {
  type DocumentNode,
  execute,
  type ExecutionArgs,
  type ExecutionResult,
  getOperationAST,
  GraphQLError,
  type GraphQLSchema,
  type OperationDefinitionNode,
} from 'graphql';

import type { GraphqlContext } from '../graphql-context.js';
import { DocumentCache, type ValidDocument } from './document-cache.js';
import { costProblem } from './operation-cost.js';

/** A GraphQL request as every transport brings it (GraphQL over HTTP, section 5). */
export interface GraphqlRequest {
  readonly query: string;
  readonly operationName: string | undefined;
  readonly variables: Readonly<Record<string, unknown>> | undefined;
}

/** An operation that may run. */
export interface PreparedOperation {
  readonly schema: GraphQLSchema;
  readonly valid: ValidDocument;
  readonly document: DocumentNode;
  readonly operation: OperationDefinitionNode;
  readonly request: GraphqlRequest;
}

/**
 * The one way to run GraphQL here: HTTP and WebSocket both prepare by it, so that no limit holds on one and not on the
 * other. Documents are parsed and validated once.
 */
@Injectable()
export class GraphqlExecutor {
  private cache: DocumentCache | undefined;

  constructor(private readonly host: GraphQLSchemaHost) {}

  /** The operation, or why it is refused. Never throws. */
  prepare(request: GraphqlRequest): PreparedOperation | readonly GraphQLError[] {
    const { schema } = this.host;
    this.cache ??= new DocumentCache(schema);
    const valid = this.cache.get(request.query);
    if (!('document' in valid)) return valid;
    const { operationName, variables } = request;
    const operation = getOperationAST(valid.document, operationName);
    if (operation === null || operation === undefined) {
      return [new GraphQLError('Say by operationName which operation of this document is meant')];
    }
    const problem = costProblem(valid, { schema, operationName: operation.name?.value, variables });
    return problem === null ? { schema, valid, document: valid.document, operation, request } : [problem];
  }

  /** Runs a query or a mutation; failures of fields are in the result. */
  async run(prepared: PreparedOperation, context: GraphqlContext): Promise<ExecutionResult> {
    return this.runArgs(argsOf(prepared, context));
  }

  /** The same, for arguments that were made by `argsOf`. */
  async runArgs(args: ExecutionArgs): Promise<ExecutionResult> {
    return execute(args);
  }
}

/** What graphql-js needs to run a prepared operation. */
export function argsOf(prepared: PreparedOperation, context: GraphqlContext): ExecutionArgs {
  const { schema, document, request } = prepared;
  return {
    schema,
    document,
    contextValue: context,
    ...(request.operationName === undefined ? {} : { operationName: request.operationName }),
    ...(request.variables === undefined ? {} : { variableValues: request.variables }),
  };
}
