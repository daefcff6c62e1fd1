import { AppError } from '../../errors/app-error.js';

/** Null instead of `not_found`: absent and forbidden look the same. Every other failure stays one. */
export async function orNull<T>(found: Promise<T>): Promise<T | null> {
  try {
    return await found;
  } catch (error) {
    if (error instanceof AppError && error.code === 'not_found') return null;
    throw error;
  }
}
