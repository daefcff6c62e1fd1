import { AppError } from '#platform';

/** Event numbers are Postgres integers; a larger cursor is simply beyond the end of every log. */
const largestSeq = 2_147_483_647;

/**
 * The number of the last event that a client has: header `Last-Event-ID` (HTML Standard, server-sent events), else `?after`. An empty
 * header counts as absent. Throws `invalid_cursor` unless it is a whole number from 0.
 */
export function toCursor(lastEventId: string | undefined, after: unknown): number | undefined {
  if (lastEventId !== undefined && lastEventId !== '') return parse(lastEventId, 'Last-Event-ID');
  return after === undefined || after === '' ? undefined : parse(after, 'after');
}

function parse(value: unknown, field: string): number {
  if (typeof value !== 'string' || !/^\d{1,15}$/.test(value)) throw invalidCursor(field);
  return Math.min(Number(value), largestSeq);
}

/** The cursor cannot be an event number: it is negative, fractional, or not a number. */
const invalidCursor = (field: string) =>
  new AppError({ code: 'invalid_cursor', message: 'Invalid cursor: expected the number of an event', field });
