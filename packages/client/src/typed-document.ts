/** What a document gives and takes; generated documents carry it as a type only. */
export interface DocumentTypeDecoration<TResult, TVariables> {
  /** Never there: it is how TypeScript learns of the two types. */
  __apiType?: (variables: TVariables) => TResult;
}

/** A GraphQL document whose text is `toString()`, as GraphQL Code Generator makes them with `documentMode: 'string'`. */
export interface TypedDocument<TResult, TVariables> extends DocumentTypeDecoration<TResult, TVariables> {
  toString(): string;
}
