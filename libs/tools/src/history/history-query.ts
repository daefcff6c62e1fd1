import type { ToolCallFilter, ToolCallOrder, ToolCallPlace } from './tool-call-filter.js';
import type { ToolCallRecord } from './tool-call-record.js';

/** A query for a page of the history. */
export interface HistoryQuery {
  readonly workspaceId: string;
  readonly filter: ToolCallFilter;
  readonly order: ToolCallOrder;
  /** 1 to 100. */
  readonly limit: number;
  /** The page begins after this position, in the direction of the order. */
  readonly after: ToolCallPlace | null;
  /** Whether results are complete, as in the ledger. Otherwise they are truncated for display. */
  readonly isWhole?: boolean;
}

/** Calls in the requested order. */
export interface HistoryPage {
  readonly rows: readonly ToolCallRecord[];
  /**
   * The position where the next page begins; null: no page follows. Usually the position of the last row. If the search would take too long,
   * it is a position after it: then the page is shorter than requested, or even empty, and more calls may follow.
   */
  readonly next: ToolCallPlace | null;
}

/**
 * Makes a page from rows, of which the query reads one too many. `stoppedAt`: the position where the search stopped; null: it reached the
 * end.
 */
export function toHistoryPage(
  rows: readonly ToolCallRecord[],
  { limit, order }: HistoryQuery,
  stoppedAt: ToolCallPlace | null,
): HistoryPage {
  const last = rows[limit - 1];
  if (rows.length <= limit || last === undefined) return { rows, next: stoppedAt };
  const { id, durationMs, name } = last;
  const next = order.by === 'time' || durationMs === null ? { id } : { id, durationMs, name };
  return { rows: rows.slice(0, limit), next };
}
