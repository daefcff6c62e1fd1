import { AppError } from '#platform';

/** Nothing to try out, or two things. */
export function testInputInvalid(field: 'id' | 'definition', message: string): AppError {
  return new AppError({ code: 'bad_request', message, field });
}
