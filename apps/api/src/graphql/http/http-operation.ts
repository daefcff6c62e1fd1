import { AsyncLocalStorage } from 'node:async_hooks';

import type { DocumentNode, GraphQLError, GraphQLFormattedError } from 'graphql';

import type { GraphqlContext } from '#auth/api';

import type { PreparedOperation } from '../documents/prepare-operation.js';

/** The GraphQL request that an HTTP request carries, from its authentication until its response is written. */
export interface HttpOperation {
  readonly context: GraphqlContext;
  /** Separates the stored documents of the caller's workspace from those of other workspaces. */
  readonly tenant: string;
  /** Whether the client prefers `application/graphql-response+json`, which uses HTTP statuses for errors. */
  readonly hasStatuses: boolean;
  /** Set once the document is known: the operation, or the errors that refuse it. */
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

/** Runs `work`, and all asynchronous work that it starts, as part of `operation`. */
export function runOperation(operation: HttpOperation, work: () => void): void {
  storage.run(operation, work);
}

/** The operation of the current request. Throws outside of `runOperation`. */
export function currentOperation(): HttpOperation {
  const operation = storage.getStore();
  if (operation === undefined) throw new Error('no GraphQL request is being served');
  return operation;
}

/** The document of an accepted operation; undefined for a refused one. */
export function documentOf({ prepared }: HttpOperation): DocumentNode | undefined {
  return prepared !== undefined && 'document' in prepared ? prepared.document : undefined;
}
