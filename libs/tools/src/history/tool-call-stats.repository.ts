import { Injectable } from '@nestjs/common';

import { PrismaService, type PrismaTransaction } from '#platform';

import { callTests, idsOf } from './call-tests.js';
import { fullScan, OPEN_STATUSES } from './index-scans.js';
import { FORCE_INDEX_ORDER } from './planner-settings.js';
import { type ChosenScan, findScan } from './scan-finder.repository.js';
import { columnsOf, type IdRange, scanSql, testsSql } from './scan-sql.js';
import { type Bind, Statement } from './statement.js';
import { fitsNothing, type ToolCallFilter } from './tool-call-filter.js';
import {
  STATS_BUCKETS,
  type StatsDimension,
  statsDimensions,
  type StatsGroup,
  type StatsQuery,
  type ToolCallStats,
} from './tool-call-stats.js';

/** Maximum number of examined calls. Statistics over more calls would take too long for an interactive request. */
export const MAX_LOOKED_AT = 200_000;
const MAX_GROUPS = 1_000;

const settings = `${FORCE_INDEX_ORDER}, set_config('work_mem', '32MB', true)`;

const columnOf = { tool: 'w.name', user: 'w.created_by', status: 'w.status' } as const;
const measured = ['created_at', 'name', 'created_by', 'status', 'duration_ms', 'result_bytes'];

interface Wanted {
  readonly filter: ToolCallFilter;
  readonly query: StatsQuery;
}

interface Row extends Pick<StatsGroup, 'tool' | 'user' | 'status' | 'count' | 'errorCount' | 'resultBytes'> {
  readonly fits: boolean;
  readonly time: Date | null;
  readonly since: Date;
  readonly settled: number;
  readonly percentiles: readonly (number | null)[] | null;
}

/** Statistics of calls across jobs. The caller has checked the rights and validated the query. */
@Injectable()
export class ToolCallStatsRepository {
  constructor(private readonly prisma: PrismaService) {}

  async read(workspaceId: string, filter: ToolCallFilter, query: StatsQuery): Promise<ToolCallStats> {
    if (fitsNothing(filter)) return { groups: [], isCut: false, isPartial: false, since: null };
    const rows = await this.prisma.withWorkspace({ workspaceId }, async (tx) => {
      await tx.$queryRawUnsafe(settings);
      return readGroups(tx, workspaceId, { filter, query });
    });
    return toStats(rows);
  }
}

/** One row per group of matching calls, and one that counts the other calls of the scan. */
async function readGroups(tx: PrismaTransaction, workspaceId: string, wanted: Wanted): Promise<Row[]> {
  const stretch: IdRange = { workspaceId, ...idsOf(wanted.filter), direction: 'desc' };
  const { trail, tests, found } = await wideScan(tx, wanted.filter, stretch);
  const { bind, values } = new Statement();
  const columns = [...measured, ...columnsOf(tests)];
  const calls = scanSql(trail, { stretch, columns, found }, bind);
  const keys = statsDimensions.map((dimension) => {
    const key = wanted.query.groupBy.includes(dimension) ? keySql(dimension, wanted.query, bind) : 'NULL';
    return `CASE WHEN w.fits THEN ${key} END AS "${dimension}"`;
  });
  const text = `SELECT w.fits, ${keys.join(', ')}, count(*)::int AS count, min(w.created_at) AS since,
      (count(*) FILTER (WHERE w.status IN ('error', 'timed_out')))::int AS "errorCount",
      (count(*) FILTER (WHERE w.status NOT IN ${OPEN_STATUSES}))::int AS settled,
      percentile_disc(ARRAY[0.5, 0.95, 0.99]) WITHIN GROUP (ORDER BY w.duration_ms) FILTER (WHERE w.fits) AS percentiles,
      coalesce(sum(w.result_bytes), 0)::float8 AS "resultBytes"
    FROM (SELECT w.*, coalesce(${testsSql(tests, 'w', bind)}, false) AS fits FROM (${calls}) w) w
   GROUP BY 1, 2, 3, 4, 5 ORDER BY w.fits, "time", count DESC LIMIT ${MAX_GROUPS + 2}`;
  return tx.$queryRawUnsafe<Row[]>(text, ...values);
}

function keySql(dimension: StatsDimension, { bucket }: StatsQuery, bind: Bind): string {
  if (dimension !== 'time') return columnOf[dimension];
  // The origin of the intervals is Monday, January 1, 2001.
  return `date_bin(${bind(STATS_BUCKETS[bucket], 'int')} * interval '1 ms', w.created_at, '2001-01-01Z')`;
}

/** Like the scan of a list, but it may read many more rows, because no client waits for a first page. */
async function wideScan(
  tx: PrismaTransaction,
  filter: ToolCallFilter,
  stretch: IdRange,
): Promise<Omit<ChosenScan, 'end'>> {
  const chosen = await findScan(tx, filter, stretch);
  const { trail, end } = chosen;
  if (end?.type === 'end') return chosen;
  // A search that has stopped cannot be continued.
  if (trail.search !== null)
    return { trail: { ...fullScan, reach: MAX_LOOKED_AT }, tests: callTests(filter), found: undefined };
  return { ...chosen, trail: { ...trail, reach: MAX_LOOKED_AT } };
}

function toStats(rows: readonly Row[]): ToolCallStats {
  const groups = rows.filter(({ fits }) => fits);
  const lookedAt = rows.reduce((sum, { count }) => sum + count, 0);
  const since = rows.map((row) => row.since.getTime());
  return {
    groups: groups.slice(0, MAX_GROUPS).map(toGroup),
    isCut: groups.length > MAX_GROUPS,
    isPartial: lookedAt >= MAX_LOOKED_AT,
    since: since.length === 0 ? null : Math.min(...since),
  };
}

function toGroup({ tool, user, status, time, count, errorCount, settled, percentiles, resultBytes }: Row): StatsGroup {
  const [p50Ms = null, p95Ms = null, p99Ms = null] = percentiles ?? [];
  const errorRate = settled === 0 ? null : errorCount / settled;
  const common = { tool, user, status, time: time?.getTime() ?? null };
  return { ...common, count, errorCount, errorRate, p50Ms, p95Ms, p99Ms, resultBytes };
}
