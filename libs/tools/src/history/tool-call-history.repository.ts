import { Injectable } from '@nestjs/common';

import { assertReadable, PrismaService, type PrismaTransaction } from '#platform';

import { RESULT_BYTES } from '../project-result.js';
import { callTests, idsOf } from './call-tests.js';
import { type HistoryPage, type HistoryQuery, toHistoryPage } from './history-query.js';
import { MAX_PIECES, SCAN_LIMITS } from './index-scans.js';
import { findOccurring } from './occurring.repository.js';
import { FORCE_INDEX_ORDER } from './planner-settings.js';
import { type ChosenScan, findScan } from './scan-finder.repository.js';
import {
  beyondSql,
  byDuration,
  columnsOf,
  type DurationRange,
  durationSql,
  type IdRange,
  scanSql,
  testsSql,
} from './scan-sql.js';
import { Statement } from './statement.js';
import {
  fitsNothing,
  likeOf,
  type ToolCallFilter,
  type ToolCallOrder,
  type ToolCallPlace,
} from './tool-call-filter.js';
import { sizeOf, type ToolCallRecord, type ToolCallRecordRow, toToolCallRecord } from './tool-call-record.js';

/** The number of calls that match a filter. */
export interface HistoryCount {
  readonly count: number;
  /** False: the count is a lower bound. */
  readonly isExact: boolean;
}

/** Counting stops here: no reader needs more pages. */
export const MAX_COUNTED = 10_000;

/** Lists calls across jobs. The caller has checked the rights. Every read examines a bounded number of calls. */
@Injectable()
export class ToolCallHistoryRepository {
  constructor(private readonly prisma: PrismaService) {}

  page(query: HistoryQuery): Promise<HistoryPage> {
    if (fitsNothing(query.filter)) return Promise.resolve({ rows: [], next: null });
    const read = query.order.by === 'time' ? pageByTime : pageByDuration;
    return this.read(query.workspaceId, (tx) => read(tx, query));
  }

  /** Counts to 10,000. If the filter must be tested call by call, it examines no more calls than a page does. */
  count(workspaceId: string, filter: ToolCallFilter, by: ToolCallOrder['by']): Promise<HistoryCount> {
    if (fitsNothing(filter)) return Promise.resolve({ count: 0, isExact: true });
    return this.read(workspaceId, (tx) => countCalls(tx, workspaceId, by === 'time' ? filter : ranOnly(filter)));
  }

  private read<T>(workspaceId: string, work: (tx: PrismaTransaction) => Promise<T>): Promise<T> {
    return this.prisma.withWorkspace({ workspaceId }, async (tx) => {
      await tx.$queryRawUnsafe(FORCE_INDEX_ORDER);
      return work(tx);
    });
  }
}

async function countCalls(tx: PrismaTransaction, workspaceId: string, filter: ToolCallFilter): Promise<HistoryCount> {
  const stretch: IdRange = { workspaceId, ...idsOf(filter), direction: 'desc' };
  const { trail, tests, found, end } = await findScan(tx, filter, stretch);
  const { bind, values } = new Statement();
  const longer = end === null ? { ...trail, reach: MAX_COUNTED + 1 } : trail;
  const along = scanSql(longer, { stretch, columns: columnsOf(tests), found }, bind);
  const text = `SELECT count(*)::int AS count FROM (SELECT 1 FROM (${along}) w WHERE ${testsSql(tests, 'w', bind)} LIMIT ${MAX_COUNTED + 1}) hit`;
  const [row] = await tx.$queryRawUnsafe<{ count: number }[]>(text, ...values);
  const count = row?.count ?? 0;
  const isWhole = end === null || end.type === 'end';
  return { count: Math.min(count, MAX_COUNTED), isExact: isWhole && count <= MAX_COUNTED };
}

/** A page of a list by time. */
async function pageByTime(tx: PrismaTransaction, query: HistoryQuery): Promise<HistoryPage> {
  const { filter, limit } = query;
  const { direction } = query.order;
  const stretch = stretchOf(query);
  const chosen = await findScan(tx, filter, stretch);
  const end = chosen.end?.type === 'at' ? chosen.end.id : null;
  const statement = new Statement();
  const { bind } = statement;
  const along = { stretch: upTo(stretch, end, chosen), columns: columnsOf(chosen.tests), found: chosen.found };
  const hits = `SELECT w.id FROM (${scanSql(chosen.trail, along, bind)}) w
    WHERE ${testsSql(chosen.tests, 'w', bind)} ORDER BY w.id ${direction} LIMIT ${limit + 1}`;
  const rows = await readCalls(tx, { ...query, hits, order: `ORDER BY hit.id ${direction}` }, statement);
  return toHistoryPage(rows, query, end === null ? null : { id: end });
}

function stretchOf({ workspaceId, filter, order: { direction }, after: place }: HistoryQuery): IdRange {
  const { after, before } = idsOf(filter);
  if (place === null) return { workspaceId, direction, after, before };
  return direction === 'desc'
    ? { workspaceId, direction, after, before: place.id < before ? place.id : before }
    : { workspaceId, direction, before, after: place.id > after ? place.id : after };
}

/** Excludes calls that the search has not examined. Other scans end at their limit anyway. No call has the id `end` of a search. */
function upTo(stretch: IdRange, end: string | null, { found }: ChosenScan): IdRange {
  if (end === null || found === undefined) return stretch;
  return stretch.direction === 'desc' ? { ...stretch, after: end } : { ...stretch, before: end };
}

/** The columns that the index of durations contains. */
const INDEXED: ReadonlySet<string> = new Set(['workspace_id', 'id', 'duration_ms', 'name']);

/**
 * A page of a list by duration. If a scan can reach its end, its calls are sorted; otherwise calls are examined in the order of the index of
 * durations, which also contains the names of tools.
 */
async function pageByDuration(tx: PrismaTransaction, query: HistoryQuery): Promise<HistoryPage> {
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

/** A list by duration contains only calls with a duration. */
function ranOnly(filter: ToolCallFilter): ToolCallFilter {
  return { ...filter, minDurationMs: filter.minDurationMs ?? 0 };
}

async function sortedPage(tx: PrismaTransaction, query: HistoryQuery, chosen: ChosenScan): Promise<HistoryPage> {
  const { workspaceId, filter, order, limit, after } = query;
  const statement = new Statement();
  const { bind } = statement;
  const stretch = { workspaceId, ...idsOf(filter), direction: 'desc' } as const;
  const columns = ['duration_ms', 'name', ...columnsOf(chosen.tests)];
  const beyond = after === null ? 'true' : beyondSql('w', { after, direction: order.direction }, bind);
  const hits = `SELECT w.id, w.duration_ms, w.name FROM (${scanSql(chosen.trail, { stretch, columns, found: chosen.found }, bind)}) w
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
  const reach = columnsOf(rest).every((column) => INDEXED.has(column)) ? SCAN_LIMITS.neighbours : SCAN_LIMITS.rows;
  const stretch: DurationRange = { workspaceId, direction: order.direction, names, range, after, reach };
  const statement = new Statement();
  const { bind } = statement;
  const hits = `SELECT w.id, w.duration_ms, w.name FROM (${durationSql(stretch, columnsOf(rest), bind)}) w
    WHERE ${testsSql(rest, 'w', bind)} ${byDuration('w', order.direction)} LIMIT ${limit + 1}`;
  const rows = await readCalls(tx, { ...query, hits, order: byDuration('hit', order.direction) }, statement);
  const stoppedAt = rows.length > limit || rest.length === 0 ? null : await endOf(tx, stretch);
  return toHistoryPage(rows, query, stoppedAt);
}

/** The tools that a filter matches; null: all tools, or too many to list. */
async function namesOf(
  tx: PrismaTransaction,
  { workspaceId, filter }: HistoryQuery,
): Promise<readonly string[] | null> {
  if (filter.tool === undefined) return null;
  if (likeOf(filter.tool) === null) return [filter.tool];
  const { names } = await findOccurring(tx, workspaceId, { tool: filter.tool });
  return names === null || names.length > MAX_PIECES ? null : names;
}

/** The position at which the range reaches its limit; null: the range ends before. */
async function endOf(tx: PrismaTransaction, stretch: DurationRange): Promise<ToolCallPlace | null> {
  const { bind, values } = new Statement();
  const text = `SELECT w.id, w.duration_ms AS "durationMs", w.name FROM (${durationSql(stretch, [], bind)}) w OFFSET ${stretch.reach - 1}`;
  return (await tx.$queryRawUnsafe<{ id: string; durationMs: number; name: string }[]>(text, ...values))[0] ?? null;
}

const columns = `t.id, t.job_id AS "jobId", t.thread_id AS "threadId", t.workflow_id AS "workflowId", t.created_by AS "createdBy",
  t.round, t.ordinal, t.call_id AS "callId", t.name, t.arguments, t.approved_arguments AS "approvedArguments",
  t.executed_arguments AS "executedArguments", t.effect, t.runtime, t.executor, t.tool_version AS "toolVersion",
  t.status, t.approval, t.decided_by AS "decidedBy", t.decision_id AS "decisionId", t.result_bytes AS "resultBytes", t.duration_ms AS "durationMs", t.error, t.created_at AS "createdAt",
  t.started_at AS "startedAt", t.finished_at AS "finishedAt"`;
/** At least one byte more than the display size, so that the caller can mark the text as truncated. */
const shownResult = `left(t.result, ${RESULT_BYTES.ui + 1}) AS result`;

/** The calls to read, and their order. */
interface WantedCalls {
  readonly workspaceId: string;
  /** SQL that gives an `id` and the columns of the sort order. */
  readonly hits: string;
  /** The order of `hit`. */
  readonly order: string;
  readonly isWhole?: boolean | undefined;
}

/** Reads calls as records. */
async function readCalls(tx: PrismaTransaction, wanted: WantedCalls, statement: Statement): Promise<ToolCallRecord[]> {
  const { workspaceId, hits, order, isWhole = false } = wanted;
  const rows = await tx.$queryRawUnsafe<ToolCallRecordRow[]>(
    `SELECT ${columns}, ${isWhole ? 't.result' : shownResult} FROM (${hits}) hit
       JOIN tool_call t ON t.workspace_id = ${statement.bind(workspaceId, 'uuid')} AND t.id = hit.id ${order}`,
    ...statement.values,
  );
  assertReadable(sizeOf(rows));
  return rows.map(toToolCallRecord);
}
