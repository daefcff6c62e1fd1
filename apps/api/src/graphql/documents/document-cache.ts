import { ApolloArmor } from '@escape.tech/graphql-armor';
import {
  type DocumentNode,
  GraphQLError,
  type GraphQLSchema,
  parse,
  specifiedRules,
  validate,
  type ValidationRule,
} from 'graphql';

import { graphqlLimits } from './graphql-limits.js';

/** A document that parsed and is valid for the schema. */
export interface ValidDocument {
  readonly document: DocumentNode;
  /** Whether its cost depends on the variables of a request. */
  readonly costVaries: boolean;
  /** Costs already known, by operation name; only when `costVaries` is false. */
  readonly costs: Map<string, number>;
  /** What else is derived from this document once, by whoever derives it. */
  readonly derived: Map<string, unknown>;
}

const maxEntries = 500;
const maxCharacters = 2 * 1024 * 1024;

const armor = new ApolloArmor({
  maxDepth: { n: graphqlLimits.depth, flattenFragments: true },
  maxAliases: { n: graphqlLimits.aliases },
  maxDirectives: { n: graphqlLimits.directives },
  // Cost needs the variables of the request and is asked per operation; tokens are counted by the parser.
  costLimit: { enabled: false },
  maxTokens: { enabled: false },
}).protect();
const limitRules: readonly ValidationRule[] = armor.validationRules;

/**
 * Parses and validates each document once: the most recently used ones are remembered, at most 500 and 2 MiB of text. Only
 * valid documents are kept, so nonsense cannot push them out for free.
 */
export class DocumentCache {
  private readonly known = new Map<string, ValidDocument>();
  private characters = 0;

  constructor(private readonly schema: GraphQLSchema) {}

  /** The document, or what is wrong with it. Never throws. */
  get(source: string): ValidDocument | readonly GraphQLError[] {
    const known = this.known.get(source);
    if (known !== undefined) {
      // Maps keep the order of insertion: the first one is the one that was not used for longest.
      this.known.delete(source);
      this.known.set(source, known);
      return known;
    }
    const checked = this.check(source);
    if ('document' in checked) this.remember(source, checked);
    return checked;
  }

  private check(source: string): ValidDocument | readonly GraphQLError[] {
    try {
      const document = parse(source, { maxTokens: graphqlLimits.tokens, noLocation: false });
      // Limits first: some of GraphQL's own rules take quadratic time on the documents that limits refuse.
      const beyond = validate(this.schema, document, limitRules, { maxErrors: 5 });
      const errors = beyond.length > 0 ? beyond : validate(this.schema, document, specifiedRules, { maxErrors: 20 });
      if (errors.length > 0) return errors;
      const costVaries = /@(?:include|skip)\b/.test(source) || /\b(?:first|last|ids)\s*:\s*\$/.test(source);
      return { document, costVaries, costs: new Map(), derived: new Map() };
    } catch (error) {
      return [error instanceof GraphQLError ? error : new GraphQLError('The document cannot be read')];
    }
  }

  private remember(source: string, document: ValidDocument): void {
    this.known.set(source, document);
    this.characters += source.length;
    for (const oldest of this.known.keys()) {
      if (this.known.size <= maxEntries && this.characters <= maxCharacters) return;
      this.known.delete(oldest);
      this.characters -= oldest.length;
    }
  }
}
