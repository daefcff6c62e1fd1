import { AppError } from '../../errors/app-error.js';

/** Converts `not_found` to null, which hides from a caller without access whether the object exists. Other errors are thrown. */
export async function orNull<T>(found: Promise<T>): Promise<T | null> {
  try {
    return await found;
  } catch (error) {
    if (error instanceof AppError && error.code === 'not_found') return null;
    throw error;
  }
}
