import { ApolloArmor } from '@escape.tech/graphql-armor';
import {
  BREAK,
  type DocumentNode,
  GraphQLError,
  type GraphQLSchema,
  NoSchemaIntrospectionCustomRule,
  parse,
  specifiedRules,
  validate,
  type ValidationRule,
  visit,
} from 'graphql';
import { LRUCache } from 'lru-cache';

import { AppError } from '#platform';
import { graphqlLimits } from '#platform/api';

import type { AllowedOperations } from './allowed-operations.js';
import { sizeProblem } from './document-size.js';

/** A document that parsed and is valid for the schema. */
export interface ValidDocument {
  readonly document: DocumentNode;
  /** Whether it selects `__schema` or `__type` somewhere. */
  readonly introspects: boolean;
  /** Known costs of the operations, by their names and the variables that decide the cost. */
  readonly costs: Map<string, number>;
  /** Values that other modules derive from this document once. */
  readonly derived: Map<string, unknown>;
}

const maxEntries = 500;
const maxCharacters = 2 * 1024 * 1024;

const armor = new ApolloArmor({
  maxDepth: { n: graphqlLimits.depth, flattenFragments: true },
  maxAliases: { n: graphqlLimits.aliases },
  maxDirectives: { n: graphqlLimits.directives },
  // `costProblem` checks the cost, because it needs the variables of the request; the parser counts tokens.
  costLimit: { enabled: false },
  maxTokens: { enabled: false },
}).protect();
const limitRules: readonly ValidationRule[] = armor.validationRules;
/** Each error scans the text for its line number, so the cost is errors times text length. */
const maxErrors = 10;
/** Suggestions reveal other names of the schema, and each compares a name with all others. */
const hideSuggestions = true;

/** The operator's settings for documents. */
export interface DocumentOptions {
  /** Whether `__schema` and `__type` may be selected. */
  readonly introspection: boolean;
  /** The only operations that may run; null: any. */
  readonly allowed?: AllowedOperations | null;
}

/**
 * Parses and validates each document once. The cache keeps the most recently used ones, at most 500 and 2 MiB of text, and their costs (up to
 * 10 MiB of keys). It keeps only valid documents, so that invalid ones cannot evict them.
 */
export class DocumentCache {
  private readonly documents = new LRUCache<string, ValidDocument>({
    max: maxEntries,
    maxSize: maxCharacters,
    sizeCalculation: (_, source) => source.length,
  });
  private readonly rules: readonly ValidationRule[];
  private readonly allowed: AllowedOperations | null;

  constructor(
    private readonly schema: GraphQLSchema,
    { introspection, allowed = null }: DocumentOptions = { introspection: true },
  ) {
    this.allowed = allowed;
    this.rules = introspection ? specifiedRules : [...specifiedRules, NoSchemaIntrospectionCustomRule];
  }

  /** The document, if it was parsed before. */
  known(source: string): ValidDocument | undefined {
    return this.documents.get(source);
  }

  /** The valid document, or its errors. Never throws. */
  get(source: string): ValidDocument | readonly GraphQLError[] {
    const known = this.known(source);
    if (known !== undefined) return known;
    const checked = this.check(source);
    if ('document' in checked) this.documents.set(source, checked);
    return checked;
  }

  private check(source: string): ValidDocument | readonly GraphQLError[] {
    if (source.length > graphqlLimits.characters)
      return [new GraphQLError(`The document is longer than ${graphqlLimits.characters} characters`)];
    try {
      const document = parse(source, { maxTokens: graphqlLimits.tokens, noLocation: false });
      // The limits run first: GraphQL's own rules take more than linear time on the documents that the limits refuse.
      const tooLarge = sizeProblem(document);
      if (tooLarge !== null) return [tooLarge];
      if (this.allowed !== null && !this.allowed.has(document)) return [notAllowed()];
      const beyond = validate(this.schema, document, limitRules, { maxErrors, hideSuggestions });
      const errors =
        beyond.length > 0 ? beyond : validate(this.schema, document, this.rules, { maxErrors, hideSuggestions });
      if (errors.length > 0) return errors;
      return { document, introspects: introspects(document), costs: new Map(), derived: new Map() };
    } catch (error) {
      return [error instanceof GraphQLError ? error : new GraphQLError('The document cannot be read')];
    }
  }
}

function notAllowed(): GraphQLError {
  const message = "This operation is not on the server's list of allowed operations. Ask its operator to add it";
  return new GraphQLError(message, { originalError: new AppError({ code: 'operation_not_allowed', message }) });
}

function introspects(document: DocumentNode): boolean {
  let found = false;
  visit(document, {
    Field: ({ name }) => {
      found = name.value === '__schema' || name.value === '__type';
      return found ? BREAK : undefined;
    },
  });
  return found;
}
