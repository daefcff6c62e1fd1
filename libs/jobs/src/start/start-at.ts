import { AppError, systemClock } from '#platform';

/** How far ahead a job may be accepted. */
export const longestDelayMs = 366 * 86_400_000;

/** Drops an instant that has passed: the job starts at once. Throws `bad_request` for one more than 366 days ahead. */
export function withStartAt<Request extends { readonly startAt?: number }>(request: Request): Request {
  const { startAt, ...rest } = request;
  if (startAt === undefined) return request;
  const delayMs = startAt - systemClock.now();
  if (delayMs > longestDelayMs || !Number.isSafeInteger(startAt))
    throw new AppError({ code: 'bad_request', message: 'startAt must be at most 366 days ahead', field: 'startAt' });
  return delayMs > 0 ? request : (rest as Request); // without an optional member
}
