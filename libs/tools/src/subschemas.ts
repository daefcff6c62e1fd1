import { isObject } from './schema-limits.js';

/** Keywords whose value is a schema, or a list of schemas. */
const SCHEMAS: ReadonlySet<string> = new Set([
  ...['additionalItems', 'additionalProperties', 'allOf', 'anyOf', 'contains', 'else', 'if', 'items', 'not', 'oneOf'],
  ...['prefixItems', 'propertyNames', 'then', 'unevaluatedItems', 'unevaluatedProperties'],
]);
/** Keywords whose value is an object of schemas. */
const MAPS: ReadonlySet<string> = new Set([
  ...['$defs', 'definitions', 'dependencies', 'dependentSchemas', 'patternProperties', 'properties'],
]);

/** What a schema and the schemas within it name. */
export interface Subschemas {
  readonly patterns: readonly string[];
  readonly references: readonly string[];
  /** Whether a reference points into the schema. Where schemas within it have ids of their own, any pointer may. */
  resolves(reference: string): boolean;
}

/** Walks the keywords that hold schemas; data such as `enum` and `default` is not looked into. */
export function findSubschemas(root: Readonly<Record<string, unknown>>): Subschemas {
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

/** Whether a JSON pointer (RFC 6901, section 6) leads to something that can be a schema. */
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
