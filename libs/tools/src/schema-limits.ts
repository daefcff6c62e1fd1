import { type LinearPattern, linearPattern, patternSize } from './linear-pattern.js';
import { invalidSchema } from './tools.errors.js';

const MAX_SCHEMA_LENGTH = 262_144;
/** Maximum nesting. Recursion over a schema is safe up to this depth. */
const MAX_LEVELS = 200;
/**
 * Maximum number of parts. ajv generates code for each part of a schema; a thousand properties with a type have 2,000 parts. 5,000 parts take
 * up to 0.4 s.
 */
const MAX_PARTS = 5_000;
/** ajv generates separate code for each target of a reference, and a lookup for each pattern. */
const PARTS_OF_TARGET = 5;
const PARTS_OF_PATTERN = 5;
/** Keywords that describe a schema and generate no code. */
const ANNOTATIONS: ReadonlySet<string> = new Set([
  ...['$comment', 'default', 'deprecated', 'description', 'examples', 'readOnly', 'title', 'writeOnly'],
]);

/** Limits of the patterns of all schemas together; see `patternSize`. */
export interface PatternLimits {
  readonly patterns: number;
  readonly size: number;
}

export const PATTERN_LIMITS: PatternLimits = { patterns: 500, size: 10_000 };

/** Maximum number of parts of all schemas in one request or document: 20,000 parts are validated in some 100 ms. */
const MAX_PARTS_TOGETHER = 20_000;

/** Counts the parts of one or several schemas, and compiles each of their patterns once, for a linear engine. */
export class SchemaBudget {
  size = 0;
  private parts = 0;
  private readonly known = new Map<string, LinearPattern>();
  // ajv distinguishes compiled patterns by toString(), which RE2JS returns as the pattern's text. With a wrapper that lacks it, all patterns
  // of a schema would share the first one.
  readonly regExp = Object.assign((pattern: string) => this.known.get(pattern) ?? this.compile(pattern), {
    code: 're2',
  });

  /** Throws if the schemas together have too many parts. */
  takeParts(parts: number): void {
    this.parts += parts;
    if (this.parts > MAX_PARTS_TOGETHER)
      throw invalidSchema(`it and the schemas beside it have more than ${MAX_PARTS_TOGETHER} parts`);
  }

  private compile(pattern: string): LinearPattern {
    this.size += patternSize(pattern);
    if (this.known.size === PATTERN_LIMITS.patterns || this.size > PATTERN_LIMITS.size)
      throw new Error('it has too many patterns, or they are too large together');
    const made = linearPattern(pattern, 'javascript');
    this.known.set(pattern, made);
    return made;
  }
}

/** Throws `invalid_schema` for a schema that is too long, too deep, asynchronous, or has too many parts. Linear in its length. */
export function assertBounded(schema: object, budget: SchemaBudget): void {
  if (levelsOf(schema, MAX_LEVELS) > MAX_LEVELS) throw invalidSchema('it is nested too deep');
  if (JSON.stringify(schema).length > MAX_SCHEMA_LENGTH)
    throw invalidSchema(`it is longer than ${MAX_SCHEMA_LENGTH} characters`);
  if (isAsync(schema)) throw invalidSchema('it is asynchronous ($async)');
  const targets = new Set<string>();
  const parts = partsOf(schema, targets) + targets.size * PARTS_OF_TARGET;
  if (parts > MAX_PARTS) throw invalidSchema(`it has more than ${MAX_PARTS} parts`);
  budget.takeParts(parts);
}

function levelsOf(value: unknown, max: number): number {
  if (!isObject(value)) return 0;
  if (max === 0) return 1;
  return 1 + Object.values(value).reduce<number>((deepest, member) => Math.max(deepest, levelsOf(member, max - 1)), 0);
}

/** The number of parts of a schema. Annotations and lists of plain data count as one part each. */
function partsOf(schema: unknown, targets: Set<string>): number {
  if (!isObject(schema)) return 1;
  // Long lists of names (`dependentRequired`) take time that grows with the square of their length.
  const more = Array.isArray(schema) && !schema.some(isObject) ? schema.length ** 2 / 1_000 : 0;
  return Object.entries(schema).reduce((sum, [name, value]) => {
    if (name === '$ref' && typeof value === 'string') targets.add(value);
    if (name === 'pattern' && typeof value === 'string') return sum + PARTS_OF_PATTERN;
    if (ANNOTATIONS.has(name) && !isObject(value)) return sum;
    return sum + (isData(name, value) ? 1 : partsOf(value, targets));
  }, 1 + more);
}

function isData(name: string, value: unknown): boolean {
  return (name === 'enum' || name === 'required') && Array.isArray(value) && !value.some(isObject);
}

/** Whether a schema has ajv's keyword `$async`. Such a schema returns a promise, which would count as valid. */
function isAsync(schema: unknown): boolean {
  if (!isObject(schema)) return false;
  return Object.hasOwn(schema, '$async') || Object.values(schema).some(isAsync);
}

export function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null;
}
