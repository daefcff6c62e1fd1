const off = ['enable_seqscan', 'enable_bitmapscan', 'enable_hashjoin', 'enable_mergejoin', 'jit'];

/**
 * Makes the planner use the index whose order the statement requests. `findScan` chooses the index by measuring; the planner's estimates are
 * wrong when two conditions of a filter depend on each other. The planner also plans each statement for its values, even if the statement has
 * a name.
 */
export const FORCE_INDEX_ORDER = `SELECT ${[
  ...off.map((name) => [name, 'off']),
  ['plan_cache_mode', 'force_custom_plan'],
]
  .map(([name, value]) => `set_config('${name}', '${value}', true)`)
  .join(', ')}`;
