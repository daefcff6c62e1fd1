import type { JobEvent, JobEventOf } from '@nightshift/client';

/** A handler for each kind of event that matters; other kinds are ignored. */
export type EventTable<Result> = {
  readonly [Kind in JobEvent['__typename']]?: (event: JobEventOf<Kind>) => Result;
};

/** The result of the handler for the event; undefined if the table has none for its kind. */
export function lookUp<Result>(table: EventTable<Result>, event: JobEvent): Result | undefined {
  // Each entry handles the events of its key.
  const entry = table[event.__typename] as ((event: JobEvent) => Result) | undefined;
  return entry?.(event);
}
