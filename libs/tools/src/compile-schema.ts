import { Ajv, type ErrorObject, type Options, type ValidateFunction } from 'ajv';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { RE2JS } from 're2js';

import { canonicalJson } from './canonical-json.js';
import { runWithin } from './run-within.js';
import type { JsonSchema } from './tool.js';
import { invalidSchema } from './tools.errors.js';

/** Says what is wrong with a value, one readable clause each, at most a handful; empty when it is valid. Never throws. */
export type SchemaCheck = (value: unknown) => readonly string[];

const MAX_SCHEMA_LENGTH = 262_144;
const MAX_COMPILED = 200;
const SHOWN_PROBLEMS = 5;
const LONGEST_CHECK_MS = 250;

// Patterns of strangers run on a linear engine. ajv tells compiled patterns apart by toString(), which RE2JS gives as the
// pattern's own text; a wrapper without one would make all patterns of a schema share the first.
const linearPattern = Object.assign((pattern: string) => RE2JS.compile(RE2JS.translateRegExp(pattern)), {
  code: 're2',
});

const OPTIONS: Options = {
  strict: false,
  allErrors: true,
  ownProperties: true,
  validateFormats: false,
  strictNumbers: true,
  logger: false,
  code: { regExp: linearPattern },
};

/**
 * Compiles a JSON Schema: draft-07 when its `$schema` says so, else 2020-12. Nothing is ever fetched: a `$ref` must point
 * inside the schema. Throws `invalid_schema`. Compiled schemas are kept by their text, the least recently used one goes first.
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
  const check = compiled.get(key) ?? compile(schema);
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
  if (text.length > MAX_SCHEMA_LENGTH) throw invalidSchema(`it is longer than ${MAX_SCHEMA_LENGTH} characters`);
  return text;
}

function compile(schema: JsonSchema): SchemaCheck {
  const { $schema, ...rest } = schema;
  if (isAsync(rest)) throw invalidSchema('it is asynchronous ($async)');
  const Dialect = typeof $schema === 'string' && $schema.includes('draft-07') ? Ajv : Ajv2020;
  // An instance of its own for each schema: ajv remembers every schema and id it was given, so a shared one leaks and clashes.
  const ajv = withLinearUniqueItems(new Dialect({ ...OPTIONS, validateSchema: false }));
  let validate: ValidateFunction;
  try {
    void checkerOf(Dialect).validateSchema(rest, true);
    validate = ajv.compile(rest);
  } catch (error) {
    throw invalidSchema(error instanceof Error ? error.message : 'it does not compile');
  }
  // References multiply what a small schema costs on a small value; all else is linear in both.
  const isBounded = !JSON.stringify(rest).includes('Ref"') && !JSON.stringify(rest).includes('"$ref"');
  return (value) => problemsOf(validate, value, isBounded);
}

const checkers = new Map<typeof Ajv | typeof Ajv2020, Ajv | Ajv2020>();

/** Checks whether a schema is one, and remembers none. The schema of schemas takes 20 times as long to compile as any other. */
function checkerOf(Dialect: typeof Ajv | typeof Ajv2020): Ajv | Ajv2020 {
  const checker = checkers.get(Dialect) ?? withLinearUniqueItems(new Dialect(OPTIONS));
  checkers.set(Dialect, checker);
  return checker;
}

/** A word of ajv's own: such a schema answers with a promise, and a promise is no "valid". */
function isAsync(schema: unknown): boolean {
  if (typeof schema !== 'object' || schema === null) return false;
  return Object.hasOwn(schema, '$async') || Object.values(schema).some(isAsync);
}

/**
 * ajv compares every two items that are not plain; by their canonical text, all are compared in one pass.
 */
function withLinearUniqueItems(ajv: Ajv | Ajv2020): Ajv | Ajv2020 {
  ajv.removeKeyword('uniqueItems');
  return ajv.addKeyword({
    keyword: 'uniqueItems',
    type: 'array',
    schemaType: 'boolean',
    error: { message: 'must NOT have duplicate items' },
    validate: (isWanted: boolean, items: readonly unknown[]) =>
      !isWanted || new Set(items.map(canonicalJson)).size === items.length,
  });
}

function problemsOf(validate: ValidateFunction, value: unknown, isBounded: boolean): readonly string[] {
  try {
    const answer = isBounded ? validate(value) : runWithin(LONGEST_CHECK_MS, () => validate(value));
    if (answer === true) return [];
  } catch {
    return ['the value cannot be checked against its schema']; // a schema that refers to itself without end, or takes too long
  }
  const problems = [...new Set((validate.errors ?? []).map(describe))];
  return problems.slice(0, SHOWN_PROBLEMS);
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
