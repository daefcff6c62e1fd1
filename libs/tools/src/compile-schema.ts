import type { ErrorObject, ValidateFunction } from 'ajv';

import { canonicalJson } from './canonical-json.js';
import { runWithin } from './run-within.js';
import { assertDialect, schemaCompiler, withoutDialect } from './schema-dialect.js';
import { assertBounded, isObject, SchemaBudget } from './schema-limits.js';
import type { JsonSchema } from './tool.js';
import { invalidSchema } from './tools.errors.js';

/** Lists what is wrong with a value, one readable clause each, at most a handful; empty when it is valid. Never throws. */
export type SchemaCheck = (value: unknown) => readonly string[];

const MAX_COMPILED = 200;
const SHOWN_PROBLEMS = 5;
/** How long a check may take: for a small value, and for each 200 members and characters more. */
const CHECK_MS = 250;
const SIZE_PER_MS = 200;
/** Nothing larger gets more time. */
const MOST_COUNTED = 100_000;
/** A schema's length times the size of a value, below which a check needs no watch: a watch costs more than such a check. */
const MOST_UNWATCHED = 1_000_000;

/**
 * Compiles a JSON Schema: draft-07 when its `$schema` names it, else 2020-12. Nothing is ever fetched: a `$ref` must point
 * inside the schema. What compiling takes is linear in the schema's size, which is bounded (0.4 s). Throws `invalid_schema`. Compiled schemas
 * are kept by their text, the least recently used one goes first.
 */
export function compileSchema(schema: JsonSchema): SchemaCheck {
  const known = byObject.get(schema);
  if (known !== undefined) return known;
  const check = compileText(schema);
  byObject.set(schema, check);
  return check;
}

// Registered tools hand in the same object for every call: no need to write it out each time.
const byObject = new WeakMap<JsonSchema, SchemaCheck>();
const compiled = new Map<string, SchemaCheck>();

function compileText(schema: JsonSchema): SchemaCheck {
  const key = textOf(schema);
  const check = compiled.get(key) ?? compile(schema, key.length);
  compiled.delete(key);
  compiled.set(key, check);
  for (const oldest of compiled.keys()) {
    if (compiled.size <= MAX_COMPILED) break;
    compiled.delete(oldest);
  }
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
    throw invalidSchema(error instanceof Error ? error.message : 'it does not compile');
  }
  // References multiply what a small schema costs on a small value; all else is linear in both, and in their patterns.
  const isMultiplied = /(?:Ref|"\$ref)"/.test(JSON.stringify(rest));
  const most = isMultiplied ? 0 : MOST_UNWATCHED / (length + budget.size);
  return (value) => {
    const size = sizeOf(value);
    return problemsOf(validate, value, size <= most ? null : CHECK_MS + size / SIZE_PER_MS);
  };
}

/** How many members and characters a value has; counts no more than `MOST_COUNTED`. */
function sizeOf(value: unknown): number {
  let size = 0;
  const left: unknown[] = [value];
  while (left.length > 0 && size < MOST_COUNTED) {
    const next = left.pop();
    size += typeof next === 'string' ? next.length + 1 : 1;
    if (isObject(next)) for (const member of Object.values(next)) left.push(member);
  }
  return Math.min(size, MOST_COUNTED);
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
    return ['the value cannot be checked against its schema']; // a schema that refers to itself without end, or takes too long
  }
}

function describe(error: ErrorObject): string {
  const path = error.instancePath.slice(1).replaceAll('/', '.').replaceAll('~1', '/').replaceAll('~0', '~');
  const subject = path === '' ? '' : `"${path.slice(0, 100)}" `;
  return `${subject}${(error.message ?? 'is not valid').slice(0, 200)}${detailOf(error)}`;
}

function detailOf(error: ErrorObject): string {
  // ajv's params are typed loosely; each keyword fills its own
  const params: Readonly<Record<string, unknown>> = error.params;
  if (error.keyword === 'additionalProperties') return `: "${String(params['additionalProperty']).slice(0, 100)}"`;
  if (error.keyword === 'enum') return `: ${JSON.stringify(params['allowedValues']).slice(0, 200)}`;
  return '';
}
