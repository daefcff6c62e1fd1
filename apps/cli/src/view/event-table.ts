import type { JobEvent, JobEventOf } from '@nightshift/client';

/** What is done with events of some kinds; those that are not in it do not matter there. */
export type EventTable<Result> = {
  readonly [Kind in JobEvent['__typename']]?: (event: JobEventOf<Kind>) => Result;
};

/** What the table has for an event; undefined when it has nothing for its kind. */
export function lookUp<Result>(table: EventTable<Result>, event: JobEvent): Result | undefined {
  // An entry takes the events of the kind it stands under.
  const entry = table[event.__typename] as ((event: JobEvent) => Result) | undefined;
  return entry?.(event);
}
