/** A statement with its values; under a name it is prepared once per connection. */
export interface SqlStatement {
  readonly name?: string;
  readonly text: string;
  readonly values?: unknown[];
}
