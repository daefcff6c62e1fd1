import type { ApolloServerOptions } from '@apollo/server';
import {
  ApolloServerPluginCacheControlDisabled,
  ApolloServerPluginInlineTraceDisabled,
  ApolloServerPluginSchemaReportingDisabled,
  ApolloServerPluginUsageReportingDisabled,
} from '@apollo/server/plugin/disabled';
import { InMemoryLRUCache, type KeyValueCache } from '@apollo/utils.keyvaluecache';
import { ApolloDriver, type ApolloDriverConfig } from '@nestjs/apollo';
import { type DocumentNode, GraphQLError, parse } from 'graphql';

import type { GraphqlContext } from '#auth/api';
import type { Logger } from '#platform';

import { currentOperation, documentOf } from './http-operation.js';

const limits = { max: 10_000, maxSize: 16 * 1024 * 1024 };
/** The prefix that Apollo Server adds to the id of a document. */
const prefix = 'apq:';

/**
 * Documents of automatic persisted queries: the most recently used 10,000, at most 16 MiB, over all workspaces. A workspace finds only its
 * own documents, so that no caller learns which documents others use. A document on the operator's list of allowed operations needs no
 * registration.
 */
class PersistedQueries implements KeyValueCache {
  private readonly documents = new InMemoryLRUCache<string>(limits);

  get(key: string): Promise<string | undefined> {
    const operation = currentOperation();
    const allowed = operation.allowedDocument(key.slice(prefix.length));
    return allowed === undefined ? this.documents.get(`${operation.tenant} ${key}`) : Promise.resolve(allowed);
  }

  /** Apollo Server calls this after it has accepted the operation of the document. */
  set(key: string, document: string): Promise<void> {
    return this.documents.set(`${currentOperation().tenant} ${key}`, document);
  }

  async delete(key: string): Promise<boolean> {
    return this.documents.delete(`${currentOperation().tenant} ${key}`);
  }
}

/**
 * Replaces a refused document, so that Apollo Server does not parse what the limits refuse. `OperationPlugin` ends the request before
 * anything runs.
 */
const refusedDocument = parse('{ __typename }');

/** Returns the document that `OperationPlugin` has prepared with the cache that graphql-ws also uses; stores nothing itself. */
const preparedDocuments: NonNullable<ApolloServerOptions<GraphqlContext>['documentStore']> = {
  get: (): Promise<DocumentNode> => Promise.resolve(documentOf(currentOperation()) ?? refusedDocument),
  set: () => Promise.resolve(),
  delete: () => Promise.resolve(),
};

/**
 * Apollo Server as Nightshift runs it. It sends nothing to Apollo, even if APOLLO_KEY, APOLLO_GRAPH_REF or
 * APOLLO_SCHEMA_REPORTING is set, and does not depend on NODE_ENV.
 */
export function apolloOptions(logger: Logger): ApolloDriverConfig {
  return {
    driver: ApolloDriver,
    autoSchemaFile: true,
    sortSchema: true,
    nodeEnv: 'production',
    // The module is stopped after the HTTP server, which has let open requests finish.
    stopOnApplicationShutdown: true,
    logger: toApolloLogger(logger),
    context: () => Promise.resolve(currentOperation().context),
    documentStore: preparedDocuments,
    persistedQueries: { cache: new PersistedQueries() },
    csrfPrevention: true,
    allowBatchedHttpRequests: false,
    // GRAPHQL_INTROSPECTION decides, where documents are validated.
    introspection: true,
    hideSchemaDetailsFromClientErrors: true,
    includeStacktraceInErrorResponses: false,
    formatError: (_, error) => currentOperation().toPublicError(toGraphqlError(error)),
    stringifyResult: (result) => currentOperation().toText(result),
    graphiql: false,
    autoTransformHttpErrors: false,
    preserveHttpStatusForExecutionErrors: false,
    plugins: [
      ApolloServerPluginUsageReportingDisabled(),
      ApolloServerPluginSchemaReportingDisabled(),
      ApolloServerPluginInlineTraceDisabled(),
      // This plugin would wrap every resolver to compute a header that the server sets itself.
      ApolloServerPluginCacheControlDisabled(),
    ],
  };
}

function toGraphqlError(error: unknown): GraphQLError {
  if (error instanceof GraphQLError) return error;
  const originalError = error instanceof Error ? error : new Error(String(error));
  return new GraphQLError(originalError.message, { originalError });
}

function toApolloLogger(logger: Logger): NonNullable<ApolloServerOptions<GraphqlContext>['logger']> {
  const write = (level: 'debug' | 'info' | 'warn' | 'error') => (message: unknown) => {
    logger[level]({ component: 'apollo' }, String(message));
  };
  return { debug: write('debug'), info: write('info'), warn: write('warn'), error: write('error') };
}
