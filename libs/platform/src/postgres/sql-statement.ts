/** A statement with its values. If it has a name, each connection prepares it once. */
export interface SqlStatement {
  readonly name?: string;
  readonly text: string;
  readonly values?: unknown[];
}
