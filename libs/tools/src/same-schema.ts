import { canonicalJson } from './canonical-json.js';
import type { JsonSchema } from './tool.js';

// Keywords that tell a reader something and constrain nothing.
const ANNOTATIONS = new Set(['$schema', '$comment', 'title', 'description', 'examples', 'default', 'deprecated']);
// Their members are names of the author's choosing, not keywords.
const NAME_MAPS = new Set(['properties', 'patternProperties', '$defs', 'definitions', 'dependentSchemas']);
// Their values are data, not schemas.
const DATA = new Set(['enum', 'const']);

/** Whether two JSON Schemas demand the same, as written; annotations, empty keywords, the order of members
 * and whether unknown members are allowed do not count. */
export function sameSchema(a: JsonSchema, b: JsonSchema): boolean {
  try {
    return canonicalJson(demandsOf(a)) === canonicalJson(demandsOf(b));
  } catch {
    return false; // nested too deep to be one of ours
  }
}

function demandsOf(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(demandsOf);
  if (typeof schema !== 'object' || schema === null) return schema;
  return Object.fromEntries(
    Object.entries(schema)
      .filter(([keyword, value]) => !ANNOTATIONS.has(keyword) && !isEmptyDemand(keyword, value))
      .map(([keyword, value]) => [keyword, demandOf(keyword, value)]),
  );
}

function demandOf(keyword: string, value: unknown): unknown {
  if (DATA.has(keyword)) return value;
  if (keyword === 'required' && Array.isArray(value)) return value.map(String).sort();
  if (!NAME_MAPS.has(keyword) || typeof value !== 'object' || value === null) return demandsOf(value);
  return Object.fromEntries(Object.entries(value).map(([name, schema]) => [name, demandsOf(schema)]));
}

/** What authors add or leave out without meaning anything by it. */
function isEmptyDemand(keyword: string, value: unknown): boolean {
  if (keyword === 'additionalProperties') return value === true || value === false;
  return (keyword === 'required' && Array.isArray(value) && value.length === 0) || isEmptyProperties(keyword, value);
}

function isEmptyProperties(keyword: string, value: unknown): boolean {
  return keyword === 'properties' && typeof value === 'object' && value !== null && Object.keys(value).length === 0;
}
