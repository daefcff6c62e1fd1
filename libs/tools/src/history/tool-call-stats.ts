import { invalidHistoryFilter } from './history.errors.js';

/** The dimension by which calls are grouped. */
export const statsDimensions = ['tool', 'user', 'status', 'time'] as const;
export type StatsDimension = (typeof statsDimensions)[number];

/** Pieces of time, in ms; each begins at a multiple of itself in UTC, weeks on Monday. */
export const STATS_BUCKETS = { minute: 60_000, hour: 3_600_000, day: 86_400_000, week: 604_800_000 } as const;
export type StatsBucket = keyof typeof STATS_BUCKETS;

/** Which calls to count; the filter sets the time span. */
export interface StatsQuery {
  /** At most 2, none twice; empty: all calls are one group. */
  readonly groupBy: readonly StatsDimension[];
  /** For groups by time. */
  readonly bucket: StatsBucket;
}

/** Calls that have something in common. Members that they were not grouped by are null. */
export interface StatsGroup {
  readonly tool: string | null;
  readonly user: string | null;
  readonly status: string | null;
  /** When its piece of time begins, in ms. */
  readonly time: number | null;
  readonly count: number;
  /** Calls that failed or took too long, by those that have ended; null: none has. */
  readonly errorRate: number | null;
  readonly errorCount: number;
  /** Of the calls that ran, in ms, each one that was measured; null: none ran. */
  readonly p50Ms: number | null;
  readonly p95Ms: number | null;
  readonly p99Ms: number | null;
  /** Of all results, before any cut. */
  readonly resultBytes: number;
}

/** Statistics of calls. */
export interface ToolCallStats {
  /** By time, then the largest first; at most 1,000. */
  readonly groups: readonly StatsGroup[];
  /** Groups were left out: there were more than 1,000. */
  readonly isCut: boolean;
  /** Calls were left out: of the span of time only the newest 200,000 were looked at, down to `since`. */
  readonly isPartial: boolean;
  /** The oldest call that was looked at, in ms; null: there was none. */
  readonly since: number | null;
}

/** Throws `bad_request` for dimensions that do not go together. */
export function assertStatsQuery({ groupBy }: StatsQuery): void {
  if (groupBy.length > 2) throw invalidHistoryFilter('groupBy', 'groupBy takes at most 2 dimensions');
  if (new Set(groupBy).size < groupBy.length) throw invalidHistoryFilter('groupBy', 'groupBy names a dimension twice');
}
