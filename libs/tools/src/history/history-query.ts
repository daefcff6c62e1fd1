import type { ToolCallFilter, ToolCallOrder, ToolCallPlace } from './tool-call-filter.js';
import type { ToolCallRecord } from './tool-call-record.js';

/** A page of the history that is wanted. */
export interface HistoryQuery {
  readonly workspaceId: string;
  readonly filter: ToolCallFilter;
  readonly order: ToolCallOrder;
  /** 1 to 100. */
  readonly limit: number;
  /** The page begins after this place, seen in the order's direction. */
  readonly after: ToolCallPlace | null;
  /** With results as they are in the ledger; else cut to what a screen shows. */
  readonly isWhole?: boolean;
}

/** Calls in the order asked for. */
export interface HistoryPage {
  readonly rows: readonly ToolCallRecord[];
  /**
   * Where the next page begins; null: there is none. The place of the last row; or, when looking further would have taken too
   * long, a place beyond it: then the page is shorter than asked for, or even empty, and there may be more all the same.
   */
  readonly next: ToolCallPlace | null;
}

/** Cuts rows, of which one too many was read, into a page. `stoppedAt`: where the reading gave up; null: at the end. */
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
