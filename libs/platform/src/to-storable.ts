import { defined } from './defined.js';
import { AppError } from './errors/app-error.js';

/** A value that `jsonb` columns of Postgres store and return unchanged. */
export type Storable = string | number | boolean | null | readonly Storable[] | { readonly [key: string]: Storable };

/** Far above what people write, and far below what overflows the stack (about 5,000). */
const MAX_DEPTH = 256;

/**
 * Converts a text so that `text` and `jsonb` columns store it unchanged: NUL (rejected by Postgres) and unpaired surrogates (silently
 * replaced in `text`, rejected in `jsonb`) become U+FFFD. Applying it twice gives the same text; it never throws.
 */
export function toStorableText(text: string): string {
  const wellFormed = text.isWellFormed() ? text : text.toWellFormed();
  return wellFormed.includes('\0') ? wellFormed.replaceAll('\0', '\uFFFD') : wellFormed;
}

/**
 * The policy for untrusted values at every boundary. Texts and keys are converted by `toStorableText`. Members without a JSON value
 * (undefined, functions, symbols) are left out, or become null in a list, as in JSON.stringify. A `__proto__` key is dropped. Throws AppError
 * `not_storable`, naming `field`, for numbers that cannot be stored exactly (`1e400`, NaN, bigint) and for nesting deeper than 256. Does not
 * change the value itself.
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
      if (Number.isFinite(value)) return value === 0 ? 0 : value; // jsonb has no -0
      throw notStorable('A number is too large to be stored.', field);
    case 'bigint':
      throw notStorable('A number is too large to be stored.', field);
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
    const replaced: unknown = Reflect.apply(value.toJSON, value, []); // Dates and Secrets have a JSON form; the depth limits a recursive toJSON
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
