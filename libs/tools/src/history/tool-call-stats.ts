import { invalidHistoryFilter } from './history.errors.js';

/** The dimension by which calls are grouped. */
export const statsDimensions = ['tool', 'user', 'status', 'time'] as const;
export type StatsDimension = (typeof statsDimensions)[number];

/** Lengths of intervals, in ms. Each interval begins at a multiple of its length in UTC; weeks begin on Monday. */
export const STATS_BUCKETS = { minute: 60_000, hour: 3_600_000, day: 86_400_000, week: 604_800_000 } as const;
export type StatsBucket = keyof typeof STATS_BUCKETS;

/** Which calls to count; the filter sets the time span. */
export interface StatsQuery {
  /** At most 2 dimensions, none twice; empty: all calls form one group. */
  readonly groupBy: readonly StatsDimension[];
  /** The interval, for groups by time. */
  readonly bucket: StatsBucket;
}

/** A group of calls. Dimensions that were not requested are null. */
export interface StatsGroup {
  readonly tool: string | null;
  readonly user: string | null;
  readonly status: string | null;
  /** The start of the interval, in ms. */
  readonly time: number | null;
  readonly count: number;
  /** The share of failed or timed-out calls among the ended ones; null: none has ended. */
  readonly errorRate: number | null;
  readonly errorCount: number;
  /** Percentiles of the durations of calls that ran, in ms; null: none ran. */
  readonly p50Ms: number | null;
  readonly p95Ms: number | null;
  readonly p99Ms: number | null;
  /** The total size of all results before truncation, in bytes. */
  readonly resultBytes: number;
}

/** Statistics of calls. */
export interface ToolCallStats {
  /** By time, then the largest first; at most 1,000. */
  readonly groups: readonly StatsGroup[];
  /** Whether more than 1,000 groups exist and the rest was left out. */
  readonly isCut: boolean;
  /** Whether calls were left out: only the newest 200,000 of the time span were examined, down to `since`. */
  readonly isPartial: boolean;
  /** The time of the oldest examined call, in ms; null: none. */
  readonly since: number | null;
}

/** Throws `bad_request` for an invalid combination of dimensions. */
export function assertStatsQuery({ groupBy }: StatsQuery): void {
  if (groupBy.length > 2) throw invalidHistoryFilter('groupBy', 'groupBy takes at most 2 dimensions');
  if (new Set(groupBy).size < groupBy.length) throw invalidHistoryFilter('groupBy', 'groupBy names a dimension twice');
}
