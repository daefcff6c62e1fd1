import type { z } from 'zod';

import { problemInWords } from '#platform';

import { isJsonObject } from './json.js';

/** A member that is not what it has to be. */
export interface Fault {
  readonly path: readonly PropertyKey[];
  /** The end of a sentence that begins with the member. */
  readonly message: string;
}

export interface Read<T> {
  /** Null: what has to be there is missing, or the value is something else altogether. */
  readonly value: T | null;
  readonly faults: readonly Fault[];
}

/** Faults reported for one value; a reader needs no more than these. */
const MAX_FAULTS = 100;

/**
 * Reads a stranger's value by a schema. What has the wrong type is a fault, and is read as if it were not there; a list keeps
 * its other entries. The value itself is left unchanged.
 */
export function readTolerantly<S extends z.ZodType>(schema: S, value: unknown): Read<z.output<S>> {
  const parsed = schema.safeParse(value, { error: problemInWords });
  if (parsed.success) return { value: parsed.data, faults: [] };
  const faults = parsed.error.issues.slice(0, MAX_FAULTS).map(({ path, message }) => ({ path, message }));
  const box: { left: unknown } = { left: structuredClone(value) };
  let wrong: readonly Fault[] = parsed.error.issues;
  while (wrong.length > 0 && box.left !== undefined) {
    removeAll(
      box,
      wrong.map(({ path }) => path),
    );
    const again = schema.safeParse(box.left);
    if (again.success) return { value: again.data, faults };
    wrong = again.error.issues;
  }
  return { value: null, faults };
}

const REMOVED = Symbol('removed');

/** Every path takes at least one member away, so this comes to an end. */
function removeAll(box: { left: unknown }, paths: readonly (readonly PropertyKey[])[]): void {
  const lists = new Set<unknown[]>();
  for (const path of paths) {
    const place = ['left', ...path];
    while (place.length > 0 && !remove(box, place, lists)) place.pop();
  }
  for (const list of lists) close(list);
}

function close(list: unknown[]): void {
  let kept = 0;
  for (const item of list) if (item !== REMOVED) list[kept++] = item;
  list.length = kept;
}

/** False: there is nothing at this place, so what should have it goes. */
function remove(box: object, place: readonly PropertyKey[], lists: Set<unknown[]>): boolean {
  let parent: unknown = box;
  for (const step of place.slice(0, -1)) parent = stepInto(parent, step);
  const last = place.at(-1);
  if (last === undefined) return true;
  if (Array.isArray(parent)) {
    if (typeof last !== 'number' || last >= parent.length) return false;
    parent[last] = REMOVED;
    lists.add(parent);
    return true;
  }
  if (parent === REMOVED) return true;
  return isJsonObject(parent) && Object.hasOwn(parent, last) && Reflect.deleteProperty(parent, last);
}

function stepInto(value: unknown, step: PropertyKey): unknown {
  if (value === REMOVED) return REMOVED;
  if (typeof value !== 'object' || value === null || !Object.hasOwn(value, step)) return undefined;
  const member: unknown = Reflect.get(value, step);
  return member;
}
