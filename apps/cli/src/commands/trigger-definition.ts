import { isObject, type JsonObject } from '../apply/resource.js';

/** What the commands read of a definition. */
export interface ReadDefinition {
  readonly database: string;
  readonly triggerId: string;
  readonly source: string;
  readonly collection: string | null;
  readonly events: readonly string[];
  readonly url: string | null;
  readonly start: { readonly workflow: string | null } | null;
}

/** The server fills in all fields. */
export function asRead(definition: unknown): ReadDefinition {
  return definition as ReadDefinition; // the type of `Trigger.definition` is JSON, and docs/triggers.md lists the fields
}

/** A definition as the server shows it, as `saveTrigger` takes it: there, a duration that is a number has nanoseconds. */
export function toSaved(definition: unknown): JsonObject {
  const whole = fields(definition);
  return {
    ...withDurations(whole, ['timeout']),
    retryPolicy: withDurations(fields(whole['retryPolicy']), ['initialBackoff', 'maxBackoff']),
    start: isObject(whole['start']) ? withDurations(whole['start'], ['delay']) : null,
  };
}

function fields(value: unknown): JsonObject {
  return isObject(value) ? value : {};
}

function withDurations(object: JsonObject, names: readonly string[]): JsonObject {
  const entries = Object.entries(object).map(([name, value]): readonly [string, unknown] => [
    name,
    names.includes(name) && typeof value === 'number' ? `${value}ms` : value,
  ]);
  return Object.fromEntries(entries);
}
