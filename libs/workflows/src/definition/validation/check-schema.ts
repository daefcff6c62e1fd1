import { AppError } from '#platform';
import { assertSchema } from '#tools';

import { isJsonObject, memberOf } from '../json.js';
import { type DraftNode, placeOf } from './draft.js';
import type { IssueList } from './issue.js';

/** A JSON Schema in a node's data must be one that the validator can compile. */
export function checkSchema(node: DraftNode, path: readonly string[], issues: IssueList): void {
  let schema: unknown = node.raw;
  for (const name of path) schema = memberOf(schema, name);
  if (!isJsonObject(schema)) return; // the check of the data reports a wrong type
  try {
    assertSchema(schema, issues.schemaBudget);
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    issues.error('DATA_VALIDATION_ERROR', placeOf(node, 'data', ...path), error.message);
  }
}
