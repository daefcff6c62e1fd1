import { assertDialect } from './schema-dialect.js';
import { assertBounded, isObject, SchemaBudget } from './schema-limits.js';
import type { JsonSchema } from './tool.js';
import { invalidSchema } from './tools.errors.js';

/**
 * Throws `invalid_schema` for most schemas that `compileSchema` would reject, without generating code: a schema that is invalid in its
 * dialect or too large, a pattern that RE2 does not support, a reference that does not resolve. It takes 3 ms for a thousand properties;
 * compiling takes 100 ms. So a schema is asserted when it is declared, and compiled when the first value arrives. The schemas of one request
 * share a `budget`, which limits their size and the cost of their patterns.
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

/** Keywords whose value is a schema, or a list of schemas. */
const SCHEMAS: ReadonlySet<string> = new Set([
  ...['additionalItems', 'additionalProperties', 'allOf', 'anyOf', 'contains', 'else', 'if', 'items', 'not', 'oneOf'],
  ...['prefixItems', 'propertyNames', 'then', 'unevaluatedItems', 'unevaluatedProperties'],
]);
/** Keywords whose value is an object of schemas. */
const MAPS: ReadonlySet<string> = new Set([
  ...['$defs', 'definitions', 'dependencies', 'dependentSchemas', 'patternProperties', 'properties'],
]);

/** The patterns and references of a schema and its subschemas. */
interface Subschemas {
  readonly patterns: readonly string[];
  readonly references: readonly string[];
  /** Whether a reference points into the schema. If subschemas have ids of their own, every pointer counts as valid. */
  resolves(reference: string): boolean;
}

/** Visits the keywords that contain schemas. It skips data such as `enum` and `default`. */
function findSubschemas(root: Readonly<Record<string, unknown>>): Subschemas {
  const patterns: string[] = [];
  const references: string[] = [];
  const anchors = new Set<string>();
  const ids: string[] = [];
  const walk = (schema: unknown): void => {
    if (Array.isArray(schema)) for (const item of schema) walk(item);
    else if (isObject(schema)) for (const [name, value] of Object.entries(schema)) read(name, value);
  };
  const read = (name: string, value: unknown): void => {
    if (SCHEMAS.has(name)) walk(value);
    else if (MAPS.has(name) && isObject(value)) {
      if (name === 'patternProperties') patterns.push(...Object.keys(value));
      for (const member of Object.values(value)) walk(member);
    } else if (typeof value === 'string') note(name, value);
  };
  const note = (name: string, value: string): void => {
    if (name === 'pattern') patterns.push(value);
    else if (name === '$ref' || name === '$dynamicRef') references.push(value);
    else if (name === '$anchor' || name === '$dynamicAnchor') anchors.add(value);
    else if (name === '$id') ids.push(value);
  };
  walk(root);
  const hasInnerIds = ids.length > (typeof root['$id'] === 'string' ? 1 : 0);
  const resolves = (reference: string): boolean => {
    const [place = '', fragment = ''] = reference.split('#', 2);
    if (place !== '' && !ids.some((id) => id.split('#', 1)[0] === place || id.endsWith(`/${place}`))) return false;
    return fragment === '' || anchors.has(fragment) || hasInnerIds || isPlace(root, fragment);
  };
  return { patterns, references, resolves };
}

/** Whether a JSON pointer (RFC 6901, section 6) points to a value that can be a schema. */
function isPlace(root: unknown, fragment: string): boolean {
  if (!fragment.startsWith('/')) return false;
  let value: unknown = root;
  for (const name of fragment.slice(1).split('/')) {
    if (!isObject(value)) return false;
    value = new Map<string, unknown>(Object.entries(value)).get(unescaped(name));
  }
  return isObject(value) || typeof value === 'boolean';
}

function unescaped(name: string): string {
  try {
    return decodeURIComponent(name).replaceAll('~1', '/').replaceAll('~0', '~');
  } catch {
    return name;
  }
}
