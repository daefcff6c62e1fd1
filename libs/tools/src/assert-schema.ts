import { assertDialect } from './schema-dialect.js';
import { assertBounded, SchemaBudget } from './schema-limits.js';
import { findSubschemas } from './subschemas.js';
import type { JsonSchema } from './tool.js';
import { invalidSchema } from './tools.errors.js';

/**
 * Throws `invalid_schema` for what `compileSchema` would refuse, as far as that shows without generating code: not a schema of its
 * dialect, too large, a pattern that RE2 does not have, a reference to nowhere. Takes 3 ms for a thousand properties, where compiling
 * takes 100 ms: so a schema is asserted when it is declared, and compiled when the first value arrives. Schemas of one request share
 * a `budget`, and so the limits of what compiling patterns may take.
 */
export function assertSchema(schema: JsonSchema, budget: SchemaBudget = new SchemaBudget()): void {
  assertBounded(schema, budget);
  try {
    assertDialect(schema);
    const found = findSubschemas(schema);
    for (const pattern of found.patterns) budget.regExp(pattern);
    const missing = found.references.find((reference) => !found.resolves(reference));
    if (missing !== undefined) throw new Error(`can't resolve reference ${missing.slice(0, 200)}`);
  } catch (error) {
    throw invalidSchema(error instanceof Error ? error.message : 'it does not compile');
  }
}
