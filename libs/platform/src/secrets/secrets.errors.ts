import { AppError } from '../errors/app-error.js';

/** A sealed value was moved to another place, changed, or sealed with a key this process does not hold. */
export function secretUnreadable(cause?: unknown): AppError {
  return new AppError({
    code: 'secret_unreadable',
    message:
      'A stored secret cannot be opened. Enter it again, or start with the NIGHTSHIFT_SECRET it was stored under.',
    cause,
  });
}
