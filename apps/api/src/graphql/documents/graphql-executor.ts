import { Injectable } from '@nestjs/common';
import { GraphQLSchemaHost } from '@nestjs/graphql';
import { execute, type ExecutionArgs, type ExecutionResult, type GraphQLError, Kind } from 'graphql';
import { LRUCache } from 'lru-cache';

import type { GraphqlContext } from '#auth/api';
import { assertReadable, Config, readBytes, systemClock, textsTooLarge } from '#platform';

import { toRequestError } from '../to-public-error.js';
import { AllowedOperations } from './allowed-operations.js';
import type { Variables } from './coerce-variables.js';
import { DocumentCache } from './document-cache.js';
import { PreparationBudget } from './preparation-budget.js';
import { argsOf, type GraphqlRequest, type PreparedOperation, prepareOperation } from './prepare-operation.js';

const maxResults = 8;
/** Bytes of texts that the process moves from the database to the socket in about 1 ms, without serialization. */
const bytesPerMs = 200_000;

/**
 * Caches results of introspection. The schema of a process never changes, so a document that selects only the schema runs once. The cache
 * keeps the 8 most recently used results, because each may take a megabyte.
 */
class IntrospectionResults {
  private readonly known = new LRUCache<string, ExecutionResult>({ max: maxResults });

  /** The cached result of the operation, else the result of `execute`. */
  get(prepared: PreparedOperation, execute: () => ExecutionResult | Promise<ExecutionResult>) {
    if (!isConstant(prepared)) return execute();
    const { query, operationName = '' } = prepared.request;
    const key = `${operationName} ${query}`;
    const known = this.known.get(key);
    if (known !== undefined) return known;
    const result = execute();
    if (!(result instanceof Promise)) this.known.set(key, result);
    return result;
  }
}

function isConstant({ operation: { variableDefinitions = [], selectionSet } }: PreparedOperation): boolean {
  if (variableDefinitions.length > 0) return false;
  return selectionSet.selections.every(
    (selection) => selection.kind === Kind.FIELD && selection.name.value.startsWith('__'),
  );
}

/** Whether the variables have at most 200 values and 16 KB of text: coercing them takes well under a millisecond. */
function areSmall(variables: Variables | undefined): boolean {
  let values = 200;
  let characters = 16_384;
  const fits = (value: unknown): boolean => {
    values -= 1;
    if (typeof value === 'string') characters -= value.length;
    if (values < 0 || characters < 0) return false;
    if (typeof value !== 'object' || value === null) return true;
    return Array.isArray(value)
      ? value.every(fits)
      : Object.entries(value).every(([name, field]) => fits(name) && fits(field));
  };
  return fits(variables);
}

/** Below this many bytes of read texts, no response is large: it has each text at most 60 times. */
const smallBytes = 65_536;

/** Adds the texts that a response has several times, by aliases, to those that were read. Throws like `assertReadable`. */
function assertCopiesFit(response: object): void {
  const read = readBytes();
  if (read > smallBytes) assertReadable(Math.max(0, lengthOf(response) - read));
}

function lengthOf(value: unknown): number {
  if (typeof value === 'string') return value.length;
  if (typeof value !== 'object' || value === null) return 0;
  return Object.values(value).reduce<number>((sum, member) => sum + lengthOf(member), 0);
}

/**
 * Runs all GraphQL operations. HTTP and WebSocket both call `prepare`, so that every limit applies to both. Parses and validates each
 * document once.
 */
@Injectable()
export class GraphqlExecutor {
  private cache: DocumentCache | undefined;
  private readonly introspections = new IntrospectionResults();
  private readonly budget = new PreparationBudget(systemClock);

  private readonly allowed: AllowedOperations | null;

  constructor(
    private readonly host: GraphQLSchemaHost,
    private readonly config: Config,
  ) {
    const { GRAPHQL_ALLOWED_OPERATIONS: file } = config.values;
    this.allowed = file === undefined ? null : AllowedOperations.read(file);
  }

  /** Looks up an allowed document by id. */
  allowedDocument(id: string): string | undefined {
    return this.allowed?.get(id);
  }

  /**
   * Returns the operation, or the errors that refuse it. Preparing a known document with small variables takes almost no time, so it waits
   * only if the user has exceeded the budget by far: many viewers may open the same subscription at once. Rejects with `rate_limited` when
   * too many other requests of the user wait.
   */
  async prepare(request: GraphqlRequest, userId: string): Promise<PreparedOperation | readonly GraphQLError[]> {
    const { schema } = this.host;
    this.cache ??= new DocumentCache(schema, {
      introspection: this.config.values.GRAPHQL_INTROSPECTION,
      allowed: this.allowed,
    });
    const cache = this.cache;
    const isSmall = this.budget.charge(userId, () => areSmall(request.variables));
    const known = isSmall ? cache.known(request.query) : undefined;
    if (known !== undefined && this.budget.mayOverdraw(userId))
      return this.budget.charge(userId, () => prepareOperation({ schema, valid: known, request }));
    return this.within(userId, () => {
      const valid = cache.get(request.query);
      return 'document' in valid ? prepareOperation({ schema, valid, request }) : valid;
    });
  }

  /** Runs a query or a mutation; failures of fields are in the result. Rejects as `prepare` does. */
  async run(prepared: PreparedOperation, context: GraphqlContext): Promise<ExecutionResult> {
    return this.runArgs(prepared, argsOf(prepared, context));
  }

  /** The same as `run`, with arguments that `argsOf` made. */
  async runArgs(prepared: PreparedOperation, args: ExecutionArgs): Promise<ExecutionResult> {
    if (!prepared.valid.introspects) return execute(args);
    const { identity } = args.contextValue as GraphqlContext; // `argsOf` sets it
    return this.within(identity.userId, () => this.introspections.get(prepared, () => execute(args)));
  }

  /** Runs blocking `work` within the user's time budget. Rejects as `prepare` does. */
  async within<T>(userId: string, work: () => T | Promise<T>): Promise<T> {
    return this.budget.run(userId, work);
  }

  /**
   * Serializes a response, or the one that `refuse` makes if its texts exceed a limit. The time of reading its texts and of serializing it
   * delays the user's next requests, never this response.
   */
  textOf(userId: string, response: object, refuse: (error: GraphQLError) => object): string {
    this.budget.spend(userId, readBytes() / bytesPerMs);
    return this.budget.charge(userId, () => {
      try {
        assertCopiesFit(response);
        return JSON.stringify(response);
      } catch (error) {
        // V8 throws it for a text of more than 512 Mi characters, which a response of control characters can have.
        const isTooLong = error instanceof RangeError;
        return JSON.stringify(refuse(toRequestError(isTooLong ? textsTooLarge() : error)));
      }
    });
  }
}
