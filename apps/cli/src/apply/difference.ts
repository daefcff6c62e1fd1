import { isObject, type JsonObject } from './resource.js';

/** A field that differs. `undefined` is an absent one. */
export interface FieldChange {
  /** `limits.maxRounds`, `headers.0.value`. */
  readonly path: string;
  readonly before: unknown;
  readonly after: unknown;
}

export type Action = 'create' | 'change' | 'unchanged';

export interface Difference {
  readonly action: Action;
  readonly fields: readonly FieldChange[];
}

/** What has to change so that `current` becomes `desired`. Null: there is nothing yet. The order of members has no meaning. */
export function difference(current: JsonObject | null, desired: JsonObject): Difference {
  if (current === null) return { action: 'create', fields: [] };
  const fields = [...changedFields(current, desired, [])];
  return { action: fields.length === 0 ? 'unchanged' : 'change', fields };
}

function* changedFields(before: unknown, after: unknown, path: readonly string[]): Generator<FieldChange> {
  if (isObject(before) && isObject(after)) {
    for (const name of new Set([...Object.keys(before), ...Object.keys(after)]))
      yield* changedFields(before[name], after[name], [...path, name]);
  } else if (Array.isArray(before) && Array.isArray(after) && before.length === after.length) {
    for (const [index, item] of after.entries())
      yield* changedFields(before[index] as unknown, item, [...path, String(index)]);
  } else if (before !== after) yield { path: path.join('.'), before, after };
}
