import { isId } from '../../ids.js';

/** No row has this id: for filters by ids that cannot be ours, which then find nothing. */
const unknownId = '00000000-0000-0000-0000-000000000000';

/** The values that fit both comparisons of one member; undefined: it is not compared at all. */
export function both<T>(eq: T | null | undefined, oneOf: readonly T[] | null | undefined): readonly T[] | undefined {
  if (eq == null) return oneOf ?? undefined;
  return oneOf == null || oneOf.includes(eq) ? [eq] : [];
}

/** A valid id to compare with, also for an invalid input. */
export function toIdOrNone(text: string): string {
  return isId(text) ? text : unknownId;
}
