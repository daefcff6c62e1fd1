import { AppError } from '../../errors/app-error.js';

/** The server did not make this cursor for this list. */
export const invalidCursor = (field: string) =>
  new AppError({ code: 'invalid_cursor', message: 'This cursor does not belong to this list', field });

/** A page has one direction: `first` with `after`, or `last` with `before`. */
export const invalidPage = (field: string, message: string) => new AppError({ code: 'bad_request', message, field });
