import { isId } from '../../ids.js';

/** No row has this id. A filter by an invalid id uses it, so that it finds nothing. */
const unknownId = '00000000-0000-0000-0000-000000000000';

/** The values that satisfy both comparisons of one field; undefined: the field is not compared. */
export function both<T>(eq: T | null | undefined, oneOf: readonly T[] | null | undefined): readonly T[] | undefined {
  if (eq == null) return oneOf ?? undefined;
  return oneOf == null || oneOf.includes(eq) ? [eq] : [];
}

/** Returns the id, or for an invalid text an id that no row has. */
export function toIdOrNone(text: string): string {
  return isId(text) ? text : unknownId;
}
