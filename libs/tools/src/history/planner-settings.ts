/**
 * Which index calls are read along is decided by looking (see `findScan`). The planner's estimates are wrong as soon as two
 * members of a filter have to do with each other, so it is left no other way than the index whose order is asked for.
 */
export const NO_GUESSES = ['enable_seqscan', 'enable_bitmapscan', 'enable_hashjoin', 'enable_mergejoin', 'jit']
  .map((name) => `SET LOCAL ${name} = off`)
  .join(';');
