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
  // Without inlining, a referenced schema is compiled once, not at each reference.
  inlineRefs: false,
};

/** Makes a compiler for one schema. ajv keeps every schema and id, so a shared compiler would leak memory and ids would clash. */
export function schemaCompiler(schema: JsonSchema, budget: SchemaBudget): Ajv | Ajv2020 {
  const Compiler = dialectOf(schema['$schema']);
  return withLinearUniqueItems(new Compiler({ ...optionsWith(budget), validateSchema: false }));
}

/** Throws if the schema is invalid in the dialect that `$schema` names. Linear in the schema's length. */
export function assertDialect(schema: JsonSchema): void {
  void checkerOf(dialectOf(schema['$schema'])).validateSchema(withoutDialect(schema), true);
}

/** Removes `$schema`: the compiler already has the dialect, and would try to resolve any other name. */
export function withoutDialect(schema: JsonSchema): JsonSchema {
  return Object.fromEntries(Object.entries(schema).filter(([name]) => name !== '$schema'));
}

function dialectOf($schema: unknown): Dialect {
  return typeof $schema === 'string' && $schema.includes('draft-07') ? Ajv : Ajv2020;
}

/** With ajv's optimization, compiling nested alternatives takes time that grows with the square of their number. */
function optionsWith({ regExp }: SchemaBudget): Options {
  return { ...OPTIONS, code: { regExp, optimize: false } };
}

const checkers = new Map<Dialect, Ajv | Ajv2020>();

/** Validates schemas without keeping them. The meta-schema takes 20 times as long to compile as any other, so its compiler is cached. */
function checkerOf(Checker: Dialect): Ajv | Ajv2020 {
  const checker = checkers.get(Checker) ?? withLinearUniqueItems(new Checker(optionsWith(new SchemaBudget())));
  checkers.set(Checker, checker);
  return checker;
}

/** Replaces ajv's `uniqueItems`, which compares every pair of items that are not plain. This one compares canonical texts in one pass. */
function withLinearUniqueItems(ajv: Ajv | Ajv2020): Ajv | Ajv2020 {
  ajv.removeKeyword('uniqueItems');
  return ajv.addKeyword({
    keyword: 'uniqueItems',
    type: 'array',
    schemaType: 'boolean',
    error: { message: 'must NOT have duplicate items' },
    validate: (isWanted: boolean, items: readonly unknown[]) => !isWanted || areUnique(items),
  });
}

function areUnique(items: readonly unknown[]): boolean {
  const texts = new Set<string>();
  return items.every((item) => texts.size !== texts.add(canonicalJson(item)).size);
}
