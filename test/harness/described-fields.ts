import { z } from 'zod';

import { isJsonObject, type JsonObject, memberOf } from '../../libs/workflows/src/definition/json.js';

/** A field of a node's `data`, in words. */
export interface FieldDescription {
  /** `a.b` is a member of an object, `a[].b` one of a list's entries. */
  readonly name: string;
  readonly type: string;
  /** JSON; null: there is none. */
  readonly fallback: string | null;
  readonly isRequired: boolean;
  readonly meaning: string;
}

/** The fields of a schema, those of objects and lists inside of it after them. Those in `apart` are listed without their own fields. */
export function describedFields(
  schema: z.ZodType,
  apart: ReadonlySet<string> = new Set(),
): readonly FieldDescription[] {
  const json: JsonObject = { ...z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any' }) };
  return fieldsOf(json, '', apart);
}

function fieldsOf(schema: unknown, prefix: string, apart: ReadonlySet<string>): readonly FieldDescription[] {
  const required = memberOf(schema, 'required');
  const members = memberOf(schema, 'properties');
  return Object.entries(isJsonObject(members) ? members : {}).flatMap(([member, field]) => {
    const name = prefix + member;
    const description = memberOf(field, 'description');
    const isRequired = memberOf(field, 'isRequired') === true || (Array.isArray(required) && required.includes(member));
    const described: FieldDescription = {
      name,
      type: typeOf(field),
      fallback: isRequired ? null : fallbackOf(field),
      isRequired,
      meaning: typeof description === 'string' ? description : '',
    };
    const items = memberOf(field, 'items');
    const inner = items === undefined ? fieldsOf(field, `${name}.`, apart) : fieldsOf(items, `${name}[].`, apart);
    return apart.has(name) ? [described] : [described, ...inner];
  });
}

/** An empty one means the same as its absence. */
function fallbackOf(field: unknown): string | null {
  const fallback = memberOf(field, 'default');
  const text = fallback === undefined ? '' : JSON.stringify(fallback);
  return ['', '""', '{}', '[]'].includes(text) ? null : text;
}

const types: Readonly<Record<string, string>> = {
  string: 'text',
  number: 'number',
  integer: 'whole number',
  boolean: 'boolean',
  object: 'object',
};

function typeOf(field: unknown): string {
  const either = memberOf(field, 'anyOf');
  if (Array.isArray(either)) return either.map(typeOf).join(', or ');
  const values = memberOf(field, 'enum');
  if (Array.isArray(values)) return values.map((value) => `\`${String(value)}\``).join(', ');
  const type = memberOf(field, 'type');
  if (type === 'array') return `list of ${typeOf(memberOf(field, 'items'))}s`;
  const word = types[String(type)] ?? 'anything';
  return type === 'number' || type === 'integer' ? word + rangeOf(field) : word;
}

function rangeOf(field: unknown): string {
  const above = memberOf(field, 'exclusiveMinimum');
  const least = above === undefined ? Number(memberOf(field, 'minimum') ?? 0) : Number(above) + 1;
  const most = Number(memberOf(field, 'maximum') ?? Infinity);
  return most >= Number.MAX_SAFE_INTEGER ? ` from ${least}` : ` from ${least} to ${most.toLocaleString('en')}`;
}
