import type { ConnectionOf, WantedPage } from '#platform/api';

import type { HistoryPage } from '../../history/history-query.js';
import type { ToolCallOrder } from '../../history/tool-call-filter.js';
import type { HistoryCount } from '../../history/tool-call-history.repository.js';
import type { ToolCallRecord } from '../../history/tool-call-record.js';
import { toPlaceCursor } from './tool-call-places.js';

/** A page of calls before its type is known to GraphQL. */
export interface ToolCallPage extends ConnectionOf<ToolCallRecord> {
  /** Whether `totalCount` is all of it. Counted when one of the two is first read, once. */
  readonly totalCountIsExact: Promise<boolean>;
}

/**
 * A page of the history as a connection. If the history stopped searching, the page ends at a position without a call:
 * its cursor is the position to continue from.
 */
export function toToolCallPage(
  { rows, next }: HistoryPage,
  {
    page,
    order,
    count,
  }: { readonly page: WantedPage; readonly order: ToolCallOrder; readonly count: () => Promise<HistoryCount> },
): ToolCallPage {
  const nodes = page.reverse ? rows.toReversed() : rows;
  const cursorOf = (call: ToolCallRecord) => toPlaceCursor(order, placeOf(call));
  const edges = nodes.map((node) => ({ cursor: cursorOf(node), node }));
  const onward = next === null ? null : toPlaceCursor(order, next);
  const came = page.cursor !== undefined;
  let counted: Promise<HistoryCount> | undefined;
  const counting = () => (counted ??= count());
  return {
    edges,
    nodes,
    pageInfo: {
      hasNextPage: page.reverse ? came : next !== null,
      hasPreviousPage: page.reverse ? next !== null : came,
      startCursor: (page.reverse ? onward : null) ?? edges[0]?.cursor ?? null,
      endCursor: (page.reverse ? null : onward) ?? edges.at(-1)?.cursor ?? null,
    },
    get totalCount() {
      return counting().then(({ count: total }) => total);
    },
    get totalCountIsExact() {
      return counting().then(({ isExact }) => isExact);
    },
  };
}

function placeOf({ id, durationMs, name }: ToolCallRecord) {
  return durationMs === null ? { id } : { id, durationMs, name };
}
