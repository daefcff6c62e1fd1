/** What one document may cost, whatever transport brought it. Published in docs/clients.md. */
export const graphqlLimits = {
  /** Lexical tokens of a document; asked before anything else is done with it. */
  tokens: 2_000,
  depth: 12,
  aliases: 30,
  directives: 30,
  /** One for each field, times the page size of the lists around it. */
  cost: 10_000,
  /** Entries of a page, and of `nodes(ids)`. */
  pageSize: 100,
  defaultPageSize: 20,
} as const;
