import { AppError } from '#platform';

/** A filter that means nothing. `field` as the client names it. */
export function invalidHistoryFilter(field: string, message: string): AppError {
  return new AppError({ code: 'bad_request', message, field });
}
