import type { NodeRunRow } from '../engine/node-run.js';

/**
 * Columns of `node_run n` whose usual value is stored as null: a node of the top level has no container, and most completed nodes took their plain
 * output. This makes the row of a simple node a fifth shorter.
 */
export const usualColumns = {
  path: `coalesce(n.path, '{}')`,
  iteration: `coalesce(n.iteration, '{}')`,
  handles: `coalesce(n.handles, CASE n.status WHEN 'completed' THEN '{output}'::text[] END)`,
} as const;

/** Jobs of older formats may continue on workers that do not know the meaning of null. */
const sinceFormat = 3;

/** The stored values of these columns in a job of that format. */
export function unusualOf({ path, iteration, handles, status }: NodeRunRow, format: number) {
  if (format < sinceFormat) return { path, iteration, handles };
  const isPlain = status === 'completed' && handles?.length === 1 && handles[0] === 'output';
  return {
    path: path.length === 0 ? null : path,
    iteration: iteration.length === 0 ? null : iteration,
    handles: isPlain ? null : handles,
  };
}
