import type { PrismaTransaction } from '#platform';

import { isOfOutcome, type Occurring, SETTLED } from './index-scans.js';
import { likeOf, outcomePatterns, type ToolCallFilter } from './tool-call-filter.js';

/** Maximum number of different values that are listed. */
const MAX_VALUES = 500;

/**
 * Lists the values of the leading column of an index by jumping from one value to the next. The number of steps equals the number of values.
 */
const valuesSql = (column: string, predicate: string) => `WITH RECURSIVE v(value, n) AS (
  (SELECT t.${column}, 1 FROM tool_call t WHERE t.workspace_id = $1 AND ${predicate} ORDER BY t.${column} LIMIT 1)
  UNION ALL
  SELECT (SELECT t.${column} FROM tool_call t WHERE t.workspace_id = $1 AND ${predicate} AND t.${column} > v.value
           ORDER BY t.${column} LIMIT 1), v.n + 1 FROM v WHERE v.value IS NOT NULL AND v.n < ${MAX_VALUES})
SELECT value, n FROM v WHERE value LIKE ANY ($2::text[]) OR n = ${MAX_VALUES}`;

const namesSql = valuesSql('name', SETTLED);
const outcomesSql = valuesSql('outcome', 't.outcome IS NOT NULL');

/** The tools and outcomes that match the patterns of a filter, if the filter has patterns. */
export async function findOccurring(
  tx: PrismaTransaction,
  workspaceId: string,
  filter: ToolCallFilter,
): Promise<Occurring> {
  const like = filter.tool === undefined ? null : likeOf(filter.tool);
  const patterns = isOfOutcome(filter) ? outcomePatterns(filter) : null;
  const [names, outcomes] = await Promise.all([
    like === null ? null : read(tx, namesSql, [workspaceId, [like]]),
    patterns === null ? null : read(tx, outcomesSql, [workspaceId, patterns]),
  ]);
  return { names, outcomes };
}

async function read(
  tx: PrismaTransaction,
  text: string,
  values: readonly unknown[],
): Promise<readonly string[] | null> {
  const rows = await tx.$queryRawUnsafe<{ value: string; n: number }[]>(text, ...values);
  return rows.some(({ n }) => n === MAX_VALUES) ? null : rows.map(({ value }) => value);
}
