/** Limits of one document, the same for every transport. docs/clients.md publishes them. */
export const graphqlLimits = {
  /** Length of a document, including white space and comments. */
  characters: 50_000,
  /** Lexical tokens of a document. The parser stops at this limit. */
  tokens: 2_000,
  /** Fields and fragments of all operations of a document. A fragment counts at each use. */
  selections: 2_000,
  /** The same for a subscription, which runs for each event. */
  subscriptionSelections: 500,
  /** Selections with the same path in the result. Validation compares each pair of them. */
  repeats: 100,
  depth: 12,
  aliases: 30,
  directives: 30,
  /** Each field costs one, times the page sizes of the lists around it. */
  cost: 10_000,
  /** The cost of an introspection of the whole schema; smaller ones cost in proportion. */
  introspectionCost: 7_500,
  /** Values in the variables of a request, without those inside a JSON value. */
  variableValues: 20_000,
  /** Maximum entries of a page, and of `nodes(ids)`. */
  pageSize: 100,
  defaultPageSize: 20,
} as const;

/**
 * The cost of a field whose work can take 100 ms of CPU: more than half of the limit, so an operation has one of them. The fields of an
 * operation run one after the other without a pause for other requests.
 */
export const cpuBoundCost = 6_000;
