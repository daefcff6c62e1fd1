/** The types of a document's variables and result. */
export interface DocumentTypeDecoration<TResult, TVariables> {
  /** Never set; it only carries the two types for TypeScript. */
  __apiType?: (variables: TVariables) => TResult;
}

/** A GraphQL document whose text is `toString()`, as GraphQL Code Generator writes it with `documentMode: 'string'`. */
export interface TypedDocument<TResult, TVariables> extends DocumentTypeDecoration<TResult, TVariables> {
  toString(): string;
}
