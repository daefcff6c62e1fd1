const off = ['enable_seqscan', 'enable_bitmapscan', 'enable_hashjoin', 'enable_mergejoin', 'jit'];

/**
 * The index along which calls are read is chosen by looking (see `findScan`). The planner's estimates are wrong as soon as two
 * conditions of a filter depend on each other, so it gets no other way than the index whose order is asked for; and it plans each statement
 * for its values, also if the statement has a name.
 */
export const NO_GUESSES = `SELECT ${[...off.map((name) => [name, 'off']), ['plan_cache_mode', 'force_custom_plan']]
  .map(([name, value]) => `set_config('${name}', '${value}', true)`)
  .join(', ')}`;
