import { AppError } from '../../errors/app-error.js';

/** A cursor that this server has not made for this list. */
export const invalidCursor = (field: string) =>
  new AppError({ code: 'invalid_cursor', message: 'This cursor is not one of this list', field });

/** Pages go in one direction, by one size. */
export const invalidPage = (field: string, message: string) => new AppError({ code: 'bad_request', message, field });
