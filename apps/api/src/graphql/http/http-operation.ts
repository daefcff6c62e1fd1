import { AsyncLocalStorage } from 'node:async_hooks';

import type { DocumentNode, GraphQLError, GraphQLFormattedError } from 'graphql';

import type { GraphqlContext } from '#auth/api';

import type { PreparedOperation } from '../documents/prepare-operation.js';

/** The GraphQL request that an HTTP request carries, from its authentication until its response is written. */
export interface HttpOperation {
  readonly context: GraphqlContext;
  /** Keeps what the caller's workspace stores apart from other workspaces. */
  readonly tenant: string;
  /** Whether the client prefers `application/graphql-response+json`, which has statuses of its own. */
  readonly hasStatuses: boolean;
  /** Set once the document is known: the operation that may run, or why it must not. */
  prepared?: PreparedOperation | readonly GraphQLError[];
  toPublicError(error: GraphQLError): GraphQLFormattedError;
  toText(result: object): string;
  /** The document that the list of allowed operations has under an id. */
  allowedDocument(id: string): string | undefined;
}

/**
 * Apollo Server's options (`context`, `documentStore`, `formatError`, `stringifyResult`, `persistedQueries.cache`) are functions
 * without an argument that names the request; this store holds the request that they serve.
 */
const storage = new AsyncLocalStorage<HttpOperation>();

/** Runs `work`, and what it starts, as part of `operation`. */
export function runOperation(operation: HttpOperation, work: () => void): void {
  storage.run(operation, work);
}

/** The operation that is being served. Throws outside of `runOperation`. */
export function currentOperation(): HttpOperation {
  const operation = storage.getStore();
  if (operation === undefined) throw new Error('no GraphQL request is being served');
  return operation;
}

/** The document of an operation that may run; undefined: it is refused. */
export function documentOf({ prepared }: HttpOperation): DocumentNode | undefined {
  return prepared !== undefined && 'document' in prepared ? prepared.document : undefined;
}
