import { setTimeout as pause } from 'node:timers/promises';

const TRIES = 10;

/**
 * Repeats `run` while it fails because another session changed the same catalog row. Roles are cluster-wide, so the advisory lock of one
 * database does not exclude sessions of another, and Postgres reports such a race as an error.
 */
export async function retryCatalogRace<T>(run: () => Promise<T>): Promise<T> {
  for (let left = TRIES; ; left -= 1) {
    try {
      return await run();
    } catch (error) {
      if (left <= 1 || !isCatalogRace(error)) throw error;
      await pause(10 + Math.random() * 90);
    }
  }
}

/** 40P01 deadlock, 42710 duplicate object, 23505 in a catalog's index, XX000 "tuple concurrently updated". */
export function isCatalogRace(error: unknown): boolean {
  if (!(error instanceof Error) || !('code' in error)) return false;
  if (error.code === '40P01' || error.code === '42710') return true;
  if (error.code === 'XX000') return error.message.includes('tuple concurrently');
  return error.code === '23505' && error.message.includes('"pg_');
}
