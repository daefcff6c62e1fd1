import type { ErrorObject, ValidateFunction } from 'ajv';
import { LRUCache } from 'lru-cache';

import { canonicalJson } from './canonical-json.js';
import { runWithin } from './run-within.js';
import { assertDialect, schemaCompiler, withoutDialect } from './schema-dialect.js';
import { assertBounded, isObject, SchemaBudget } from './schema-limits.js';
import type { JsonSchema } from './tool.js';
import { invalidSchema } from './tools.errors.js';

/** Lists the faults of a value as readable clauses, at most a handful; empty if the value is valid. Never throws. */
export type SchemaCheck = (value: unknown) => readonly string[];

const MAX_COMPILED = 200;
const SHOWN_PROBLEMS = 5;
/** Time limit of a check, in ms. It grows by 1 ms for each 200 members and characters of the value. */
const CHECK_MS = 250;
const SIZE_PER_MS = 200;
/** The time limit does not grow beyond this size. */
const MAX_COUNTED = 100_000;
/**
 * Maximum product of the schema's length and the value's size for a check without a time limit. Below it, the timer would cost more than the
 * check.
 */
const MAX_UNWATCHED = 1_000_000;

/**
 * Compiles a JSON Schema: draft-07 if its `$schema` names it, otherwise 2020-12. Fetches nothing: a `$ref` must point inside the schema. The
 * time is linear in the schema's size, which is limited (0.4 s). Throws `invalid_schema`. A cache by schema text keeps compiled schemas, and
 * evicts the least recently used first.
 */
export function compileSchema(schema: JsonSchema): SchemaCheck {
  const known = byObject.get(schema);
  if (known !== undefined) return known;
  const check = compileText(schema);
  byObject.set(schema, check);
  return check;
}

// A registered tool passes the same object for every call, so this map saves serializing the schema again.
const byObject = new WeakMap<JsonSchema, SchemaCheck>();
const compiled = new LRUCache<string, SchemaCheck>({ max: MAX_COMPILED });

function compileText(schema: JsonSchema): SchemaCheck {
  const key = textOf(schema);
  const known = compiled.get(key);
  if (known !== undefined) return known;
  const check = compile(schema, key.length);
  compiled.set(key, check);
  return check;
}

function textOf(schema: JsonSchema): string {
  let text: string;
  try {
    text = canonicalJson(schema);
  } catch {
    throw invalidSchema('it is nested too deep');
  }
  return text;
}

function compile(schema: JsonSchema, length: number): SchemaCheck {
  const rest = withoutDialect(schema);
  const budget = new SchemaBudget();
  assertBounded(rest, budget);
  let validate: ValidateFunction;
  try {
    assertDialect(schema);
    validate = schemaCompiler(schema, budget).compile(rest);
  } catch (error) {
    // ajv compiles a chain of references by recursion.
    if (error instanceof RangeError) throw invalidSchema('its references are nested too deep');
    throw invalidSchema(error instanceof Error ? error.message : 'it does not compile');
  }
  // References multiply the cost of a small schema for a small value. Without them, the cost is linear in the schema, the value and the
  // patterns.
  const isMultiplied = /(?:Ref|"\$ref)"/.test(JSON.stringify(rest));
  const max = isMultiplied ? 0 : MAX_UNWATCHED / (length + budget.size);
  return (value) => {
    const size = sizeOf(value);
    return problemsOf(validate, value, size <= max ? null : CHECK_MS + size / SIZE_PER_MS);
  };
}

/** The number of members and characters of a value. It stops at `MAX_COUNTED`. */
function sizeOf(value: unknown): number {
  let size = 0;
  const left: unknown[] = [value];
  while (left.length > 0 && size < MAX_COUNTED) {
    const next = left.pop();
    size += typeof next === 'string' ? next.length + 1 : 1;
    if (isObject(next)) for (const member of Object.values(next)) left.push(member);
  }
  return Math.min(size, MAX_COUNTED);
}

function problemsOf(validate: ValidateFunction, value: unknown, withinMs: number | null): readonly string[] {
  const problems = new Set<string>();
  const check = (): void => {
    const answer: unknown = validate(value);
    if (answer === true) return;
    for (const error of validate.errors ?? []) {
      problems.add(describe(error));
      if (problems.size === SHOWN_PROBLEMS) return;
    }
  };
  try {
    if (withinMs === null) check();
    else runWithin(Math.ceil(withinMs), check);
    return [...problems];
  } catch {
    return ['the value cannot be checked against its schema']; // a schema that refers to itself without end, or a check that takes too long
  }
}

function describe(error: ErrorObject): string {
  const path = error.instancePath.slice(1).replaceAll('/', '.').replaceAll('~1', '/').replaceAll('~0', '~');
  const subject = path === '' ? '' : `"${path.slice(0, 100)}" `;
  return `${subject}${(error.message ?? 'is not valid').slice(0, 200)}${detailOf(error)}`;
}

function detailOf(error: ErrorObject): string {
  // ajv types `params` loosely; each keyword has its own members
  const params: Readonly<Record<string, unknown>> = error.params;
  if (error.keyword === 'additionalProperties') return `: "${String(params['additionalProperty']).slice(0, 100)}"`;
  if (error.keyword === 'enum') return `: ${JSON.stringify(params['allowedValues']).slice(0, 200)}`;
  return '';
}
