import {
  type DocumentNode,
  type ExecutionArgs,
  getOperationAST,
  GraphQLError,
  type GraphQLSchema,
  type OperationDefinitionNode,
} from 'graphql';

import type { GraphqlContext } from '#auth/api';
import { defined } from '#platform';

import { coerceVariables, type Variables } from './coerce-variables.js';
import type { ValidDocument } from './document-cache.js';
import { costProblem } from './operation-cost.js';

/** A GraphQL request, the same for every transport (GraphQL over HTTP, section 5). */
export interface GraphqlRequest {
  readonly query: string;
  readonly operationName: string | undefined;
  readonly variables: Variables | undefined;
}

/** An operation that may run. */
export interface PreparedOperation {
  readonly schema: GraphQLSchema;
  readonly valid: ValidDocument;
  readonly document: DocumentNode;
  readonly operation: OperationDefinitionNode;
  readonly request: GraphqlRequest;
  /** The variables of the request as the operation declares them, defaults included. */
  readonly variables: Variables;
}

/** The input of `prepareOperation`. */
interface Unprepared {
  readonly schema: GraphQLSchema;
  readonly valid: ValidDocument;
  readonly request: GraphqlRequest;
}

/** Selects the operation that a request names from a valid document, and coerces its variables. Returns errors if the operation must not run. */
export function prepareOperation({ schema, valid, request }: Unprepared): PreparedOperation | readonly GraphQLError[] {
  const operation = getOperationAST(valid.document, request.operationName);
  if (operation === null || operation === undefined)
    return [new GraphQLError('Set operationName to one of the operations of this document')];
  const variables = coerceVariables(schema, operation, request.variables);
  if (!('coerced' in variables)) return variables;
  const problem = costProblem(valid, { schema, operation, variables: request.variables, coerced: variables.coerced });
  if (problem !== null) return [problem];
  return { schema, valid, document: valid.document, operation, request, variables: variables.coerced };
}

/** What graphql-js needs to run a prepared operation. */
export function argsOf({ schema, document, request }: PreparedOperation, context: GraphqlContext): ExecutionArgs {
  return {
    schema,
    document,
    contextValue: context,
    ...defined({ operationName: request.operationName, variableValues: request.variables }),
  };
}
