import { Ajv, type ErrorObject, type Options, type ValidateFunction } from 'ajv';
import { Ajv2020 } from 'ajv/dist/2020.js';

import { canonicalJson } from './canonical-json.js';
import { type LinearPattern, linearPattern, patternSize } from './linear-pattern.js';
import { runWithin } from './run-within.js';
import type { JsonSchema } from './tool.js';
import { invalidSchema } from './tools.errors.js';

/** Says what is wrong with a value, one readable clause each, at most a handful; empty when it is valid. Never throws. */
export type SchemaCheck = (value: unknown) => readonly string[];

const MAX_SCHEMA_LENGTH = 262_144;
const MAX_COMPILED = 200;
const SHOWN_PROBLEMS = 5;
/** How long a check may take: for a small value, and for each 200 members and characters more. */
const CHECK_MS = 250;
const SIZE_PER_MS = 200;
/** Nothing larger gets more time. */
const MOST_COUNTED = 100_000;
/** A schema's length times the size of a value, below which a check needs no watch: a watch costs more than such a check. */
const MOST_UNWATCHED = 1_000_000;
/** Code is generated for each part of a schema; a thousand properties with a type and a description have 3,000. */
const MOST_PARTS = 5_000;
const MOST_PATTERNS = 500;
/** Of all patterns of a schema together; see `patternSize`. */
const MOST_PATTERNS_SIZE = 10_000;

const OPTIONS: Options = {
  strict: false,
  allErrors: true,
  ownProperties: true,
  validateFormats: false,
  strictNumbers: true,
  logger: false,
  // What is referred to is compiled once, and not again wherever it is referred to.
  inlineRefs: false,
};

/**
 * Compiles a JSON Schema: draft-07 when its `$schema` says so, else 2020-12. Nothing is ever fetched: a `$ref` must point
 * inside the schema. What compiling costs is linear in the schema's size, which is bounded. Throws `invalid_schema`. Compiled schemas
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
  if (text.length > MAX_SCHEMA_LENGTH) throw invalidSchema(`it is longer than ${MAX_SCHEMA_LENGTH} characters`);
  return text;
}

function compile(schema: JsonSchema, length: number): SchemaCheck {
  const { $schema, ...rest } = schema;
  if (isAsync(rest)) throw invalidSchema('it is asynchronous ($async)');
  if (partsOf(rest) > MOST_PARTS) throw invalidSchema(`it has more than ${MOST_PARTS} parts`);
  const Dialect = typeof $schema === 'string' && $schema.includes('draft-07') ? Ajv : Ajv2020;
  // An instance of its own for each schema: ajv remembers every schema and id it was given, so a shared one leaks and clashes.
  const patterns = new SchemaPatterns();
  const ajv = withLinearUniqueItems(new Dialect({ ...optionsWith(patterns), validateSchema: false }));
  let validate: ValidateFunction;
  try {
    void checkerOf(Dialect).validateSchema(rest, true);
    validate = ajv.compile(rest);
  } catch (error) {
    throw invalidSchema(error instanceof Error ? error.message : 'it does not compile');
  }
  // References multiply what a small schema costs on a small value; all else is linear in both, and in their patterns.
  const isMultiplied = /(?:Ref|"\$ref)"/.test(JSON.stringify(rest));
  const most = isMultiplied ? 0 : MOST_UNWATCHED / (length + patterns.size);
  return (value) => {
    const size = sizeOf(value);
    return problemsOf(validate, value, size <= most ? null : CHECK_MS + size / SIZE_PER_MS);
  };
}

/** Optimised, the code of nested alternatives takes time that grows with the square of their number. */
function optionsWith({ regExp }: SchemaPatterns): Options {
  return { ...OPTIONS, code: { regExp, optimize: false } };
}

/** Everything in a schema, but for lists of mere data, each of which counts as one. */
function partsOf(schema: unknown): number {
  if (!isObject(schema)) return 1;
  const values = Object.entries(schema);
  // Long lists of names (`dependentRequired`) take time that grows with the square of their length.
  const more = Array.isArray(schema) && !schema.some(isObject) ? schema.length ** 2 / 1_000 : 0;
  return values.reduce((sum, [name, value]) => sum + (isData(name, value) ? 1 : partsOf(value)), 1 + more);
}

function isData(name: string, value: unknown): boolean {
  return (name === 'enum' || name === 'required') && Array.isArray(value) && !value.some(isObject);
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null;
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

/** The patterns of one schema, each compiled once for a linear engine. */
class SchemaPatterns {
  size = 0;
  private readonly known = new Map<string, LinearPattern>();
  // ajv tells compiled patterns apart by toString(), which RE2JS gives as the pattern's own text; a wrapper without one would make
  // all patterns of a schema share the first.
  readonly regExp = Object.assign((pattern: string) => this.known.get(pattern) ?? this.compile(pattern), {
    code: 're2',
  });

  private compile(pattern: string): LinearPattern {
    this.size += patternSize(pattern);
    if (this.known.size === MOST_PATTERNS || this.size > MOST_PATTERNS_SIZE)
      throw new Error('its patterns are too many, or too large together');
    const made = linearPattern(pattern, 'javascript');
    this.known.set(pattern, made);
    return made;
  }
}

const checkers = new Map<typeof Ajv | typeof Ajv2020, Ajv | Ajv2020>();

/** Checks whether a schema is one, and remembers none. The schema of schemas takes 20 times as long to compile as any other. */
function checkerOf(Dialect: typeof Ajv | typeof Ajv2020): Ajv | Ajv2020 {
  const checker = checkers.get(Dialect) ?? withLinearUniqueItems(new Dialect(optionsWith(new SchemaPatterns())));
  checkers.set(Dialect, checker);
  return checker;
}

/** A word of ajv's own: such a schema answers with a promise, and a promise is no "valid". */
function isAsync(schema: unknown): boolean {
  if (!isObject(schema)) return false;
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
