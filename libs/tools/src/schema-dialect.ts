import { Ajv, type Options } from 'ajv';
import { Ajv2020 } from 'ajv/dist/2020.js';

import { canonicalJson } from './canonical-json.js';
import { SchemaBudget } from './schema-limits.js';
import type { JsonSchema } from './tool.js';

type Dialect = typeof Ajv | typeof Ajv2020;

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

/** A compiler for one schema: ajv remembers every schema and id it was given, so a shared one leaks and clashes. */
export function schemaCompiler(schema: JsonSchema, budget: SchemaBudget): Ajv | Ajv2020 {
  const Compiler = dialectOf(schema['$schema']);
  return withLinearUniqueItems(new Compiler({ ...optionsWith(budget), validateSchema: false }));
}

/** Throws for what is not a JSON Schema of the dialect that `$schema` names. Linear in the schema's length. */
export function assertDialect(schema: JsonSchema): void {
  void checkerOf(dialectOf(schema['$schema'])).validateSchema(withoutDialect(schema), true);
}

/** The compiler knows its dialect, and would look for a schema under any other name. */
export function withoutDialect(schema: JsonSchema): JsonSchema {
  return Object.fromEntries(Object.entries(schema).filter(([name]) => name !== '$schema'));
}

function dialectOf($schema: unknown): Dialect {
  return typeof $schema === 'string' && $schema.includes('draft-07') ? Ajv : Ajv2020;
}

/** Optimised, the code of nested alternatives takes time that grows with the square of their number. */
function optionsWith({ regExp }: SchemaBudget): Options {
  return { ...OPTIONS, code: { regExp, optimize: false } };
}

const checkers = new Map<Dialect, Ajv | Ajv2020>();

/** Checks whether a schema is one, and remembers none. The schema of schemas takes 20 times as long to compile as any other. */
function checkerOf(Checker: Dialect): Ajv | Ajv2020 {
  const checker = checkers.get(Checker) ?? withLinearUniqueItems(new Checker(optionsWith(new SchemaBudget())));
  checkers.set(Checker, checker);
  return checker;
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
