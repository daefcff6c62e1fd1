/** Limits of one document, the same on every transport. Published in docs/clients.md. */
export const graphqlLimits = {
  /** Length of a document, white space and comments included. */
  characters: 50_000,
  /** Lexical tokens of a document; the parser stops there. */
  tokens: 2_000,
  /** Fields and fragments of all operations of a document, a fragment counted at each use. */
  selections: 2_000,
  /** The same for a subscription, which is executed for each event. */
  subscriptionSelections: 500,
  /** Selections that share one path of the result. Validation compares each of them with each other. */
  repeats: 100,
  depth: 12,
  aliases: 30,
  directives: 30,
  /** One for each field, times the page size of the lists around it. */
  cost: 10_000,
  /** What the introspection of the whole schema costs; any other costs in proportion. */
  introspectionCost: 7_500,
  /** Values in the variables of a request, those within a JSON value not counted. */
  variableValues: 20_000,
  /** Entries of a page, and of `nodes(ids)`. */
  pageSize: 100,
  defaultPageSize: 20,
} as const;
