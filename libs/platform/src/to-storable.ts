import { defined } from './defined.js';
import { AppError } from './errors/app-error.js';

/** A value that Postgres stores as `jsonb` and gives back as it was. */
export type Storable = string | number | boolean | null | readonly Storable[] | { readonly [key: string]: Storable };

/** Far above what people write and far below what overflows a stack (about 5,000). */
const MAX_DEPTH = 256;

/**
 * Text that `text` and `jsonb` columns hold unchanged: NUL (refused by Postgres) and each half of a surrogate pair (silently
 * replaced in `text`, refused in `jsonb`) become U+FFFD. Applying it twice changes nothing more; it never throws.
 */
export function toStorableText(text: string): string {
  const wellFormed = text.isWellFormed() ? text : text.toWellFormed();
  return wellFormed.includes('\0') ? wellFormed.replaceAll('\0', '\uFFFD') : wellFormed;
}

/**
 * The one policy for values from outside, at every boundary: texts and keys as `toStorableText`; members that JSON has no
 * word for (undefined, functions, symbols) are left out, or null inside a list, as JSON.stringify does; a `__proto__` key is
 * dropped. Throws AppError `not_storable`, naming `field`, for numbers that would not come back (`1e400`, NaN, bigint) and for
 * nesting deeper than 256. The value itself is not changed.
 */
export function toStorable(value: unknown, field?: string): Storable {
  return convert(value, 0, field) ?? null;
}

function convert(value: unknown, depth: number, field: string | undefined): Storable | undefined {
  switch (typeof value) {
    case 'string':
      return toStorableText(value);
    case 'boolean':
      return value;
    case 'number':
      if (Number.isFinite(value)) return value === 0 ? 0 : value; // JSON has no word for -0
      throw notStorable('A number is too large to be kept.', field);
    case 'bigint':
      throw notStorable('A number is too large to be kept.', field);
    case 'object':
      return value === null ? null : convertObject(value, depth, field);
    case 'undefined':
    case 'function':
    case 'symbol':
      return undefined;
  }
}

function convertObject(value: object, depth: number, field: string | undefined): Storable | undefined {
  if (depth >= MAX_DEPTH) throw notStorable(`Values may be nested ${MAX_DEPTH} levels deep at most.`, field);
  if (Array.isArray(value)) return value.map((item: unknown) => convert(item, depth + 1, field) ?? null);
  if ('toJSON' in value && typeof value.toJSON === 'function') {
    const replaced: unknown = Reflect.apply(value.toJSON, value, []); // Dates and our Secret speak for themselves; nothing else may recurse for ever
    return convert(replaced, depth + 1, field);
  }
  const copy: Record<string, Storable> = {};
  for (const [key, member] of Object.entries(value)) {
    if (key === '__proto__') continue;
    const converted = convert(member, depth + 1, field);
    if (converted !== undefined) copy[toStorableText(key)] = converted;
  }
  return copy;
}

function notStorable(message: string, field: string | undefined): AppError {
  return new AppError({ code: 'not_storable', message, ...defined({ field }) });
}
