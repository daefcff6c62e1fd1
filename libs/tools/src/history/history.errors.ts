import { AppError } from '#platform';

/** An invalid filter. `field` is the name that the client uses. */
export function invalidHistoryFilter(field: string, message: string): AppError {
  return new AppError({ code: 'bad_request', message, field });
}
