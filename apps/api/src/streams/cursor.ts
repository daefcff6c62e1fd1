import { AppError } from '#platform';

/** Event numbers are Postgres integers; a larger one is simply ahead of every log. */
const largestSeq = 2_147_483_647;

/**
 * The last event number that a client has: header `Last-Event-ID` (HTML Standard, server-sent events), else `?after`. An empty
 * header counts as not sent. Throws `invalid_cursor` for anything but a whole number from 0.
 */
export function toCursor(lastEventId: string | undefined, after: unknown): number | undefined {
  if (lastEventId !== undefined && lastEventId !== '') return parse(lastEventId, 'Last-Event-ID');
  return after === undefined || after === '' ? undefined : parse(after, 'after');
}

function parse(value: unknown, field: string): number {
  if (typeof value !== 'string' || !/^\d{1,15}$/.test(value)) throw invalidCursor(field);
  return Math.min(Number(value), largestSeq);
}

/** A cursor that was never ours: negative, fractional, or no number. */
const invalidCursor = (field: string) =>
  new AppError({ code: 'invalid_cursor', message: 'Invalid cursor: expected the number of an event', field });
