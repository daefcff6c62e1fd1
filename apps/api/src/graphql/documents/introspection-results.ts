import { type ExecutionResult, Kind } from 'graphql';

import type { PreparedOperation } from './prepare-operation.js';

const maxResults = 8;

/**
 * Results of introspection. The schema of a process never changes, so a document that selects nothing else runs once; the latest
 * few results are kept, each of which may take a megabyte.
 */
export class IntrospectionResults {
  private readonly known = new Map<string, ExecutionResult>();

  /** The known result of the operation, else what `execute` gives. */
  get(prepared: PreparedOperation, execute: () => ExecutionResult | Promise<ExecutionResult>) {
    if (!isConstant(prepared)) return execute();
    const { query, operationName = '' } = prepared.request;
    const key = `${operationName} ${query}`;
    const known = this.known.get(key);
    if (known !== undefined) return known;
    const result = execute();
    if (!(result instanceof Promise)) this.remember(key, result);
    return result;
  }

  private remember(key: string, result: ExecutionResult): void {
    this.known.set(key, result);
    const [oldest] = this.known.keys();
    if (this.known.size > maxResults && oldest !== undefined) this.known.delete(oldest);
  }
}

function isConstant({ operation: { variableDefinitions = [], selectionSet } }: PreparedOperation): boolean {
  if (variableDefinitions.length > 0) return false;
  return selectionSet.selections.every(
    (selection) => selection.kind === Kind.FIELD && selection.name.value.startsWith('__'),
  );
}
