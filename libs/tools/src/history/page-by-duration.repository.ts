import type { PrismaTransaction } from '#platform';

import { callTests, idsOf } from './call-tests.js';
import { type HistoryPage, type HistoryQuery, toHistoryPage } from './history-query.js';
import { MAX_PIECES, REACH } from './index-scans.js';
import { findOccurring } from './occurring.repository.js';
import { readCalls } from './read-calls.repository.js';
import { type ChosenScan, findScan } from './scan-finder.repository.js';
import { beyondSql, byDuration, columnsOf, durationSql, type DurationStretch, testsSql, trailSql } from './scan-sql.js';
import { Statement } from './statement.js';
import { likeOf, type ToolCallFilter, type ToolCallPlace } from './tool-call-filter.js';

/** The data that the index of durations has without its rows. */
const INDEXED: ReadonlySet<string> = new Set(['workspace_id', 'id', 'duration_ms', 'name']);

/**
 * A page of a list by duration. If there is a trail that can be followed to its end, its calls are sorted; else calls are looked
 * at in the order of the index of durations, which holds the names of tools as well.
 */
export async function pageByDuration(tx: PrismaTransaction, query: HistoryQuery): Promise<HistoryPage> {
  const { workspaceId } = query;
  const filter = ranOnly(query.filter);
  const others = callTests(filter).filter(({ aspect }) => aspect !== 'duration' && aspect !== 'tool');
  if (others.length > 0) {
    const stretch = { workspaceId, ...idsOf(filter), direction: 'desc' } as const;
    const chosen = await findScan(tx, filter, stretch);
    if (chosen.end?.type === 'end') return sortedPage(tx, { ...query, filter }, chosen);
  }
  return indexedPage(tx, { ...query, filter });
}

/** Calls without a duration are in no list by duration. */
export function ranOnly(filter: ToolCallFilter): ToolCallFilter {
  return { ...filter, minDurationMs: filter.minDurationMs ?? 0 };
}

async function sortedPage(tx: PrismaTransaction, query: HistoryQuery, chosen: ChosenScan): Promise<HistoryPage> {
  const { workspaceId, filter, order, limit, after } = query;
  const statement = new Statement();
  const { bind } = statement;
  const stretch = { workspaceId, ...idsOf(filter), direction: 'desc' } as const;
  const columns = ['duration_ms', 'name', ...columnsOf(chosen.tests)];
  const beyond = after === null ? 'true' : beyondSql('w', { after, direction: order.direction }, bind);
  const hits = `SELECT w.id, w.duration_ms, w.name FROM (${trailSql(chosen.trail, { stretch, columns, found: chosen.found }, bind)}) w
    WHERE ${testsSql(chosen.tests, 'w', bind)} AND ${beyond} ${byDuration('w', order.direction)} LIMIT ${limit + 1}`;
  return toHistoryPage(
    await readCalls(tx, { ...query, hits, order: byDuration('hit', order.direction) }, statement),
    query,
    null,
  );
}

async function indexedPage(tx: PrismaTransaction, query: HistoryQuery): Promise<HistoryPage> {
  const { workspaceId, order, limit, after } = query;
  const tests = callTests(query.filter);
  const range = tests.filter(({ aspect }) => aspect === 'duration');
  const names = await namesOf(tx, query);
  const rest = tests.filter(({ aspect }) => aspect !== 'duration' && !(aspect === 'tool' && names !== null));
  const reach = columnsOf(rest).every((column) => INDEXED.has(column)) ? REACH.neighbours : REACH.rows;
  const stretch: DurationStretch = { workspaceId, direction: order.direction, names, range, after, reach };
  const statement = new Statement();
  const { bind } = statement;
  const hits = `SELECT w.id, w.duration_ms, w.name FROM (${durationSql(stretch, columnsOf(rest), bind)}) w
    WHERE ${testsSql(rest, 'w', bind)} ${byDuration('w', order.direction)} LIMIT ${limit + 1}`;
  const rows = await readCalls(tx, { ...query, hits, order: byDuration('hit', order.direction) }, statement);
  const stoppedAt = rows.length > limit || rest.length === 0 ? null : await endOf(tx, stretch);
  return toHistoryPage(rows, query, stoppedAt);
}

/** The tools a filter stands for; null: all, or too many to name. */
async function namesOf(
  tx: PrismaTransaction,
  { workspaceId, filter }: HistoryQuery,
): Promise<readonly string[] | null> {
  if (filter.tool === undefined) return null;
  if (likeOf(filter.tool) === null) return [filter.tool];
  const { names } = await findOccurring(tx, workspaceId, { tool: filter.tool });
  return names === null || names.length > MAX_PIECES ? null : names;
}

/** Where the reach of a stretch is used up; null: it ends before. */
async function endOf(tx: PrismaTransaction, stretch: DurationStretch): Promise<ToolCallPlace | null> {
  const { bind, values } = new Statement();
  const text = `SELECT w.id, w.duration_ms AS "durationMs", w.name FROM (${durationSql(stretch, [], bind)}) w OFFSET ${stretch.reach - 1}`;
  return (await tx.$queryRawUnsafe<{ id: string; durationMs: number; name: string }[]>(text, ...values))[0] ?? null;
}
