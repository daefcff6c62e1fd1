import { describe, expect, it } from '@jest/globals';

import { newId } from '#platform';
import { toWantedPage } from '#platform/api';

import type { HistoryPage } from '../../history/history-query.js';
import type { ToolCallOrder } from '../../history/tool-call-filter.js';
import type { ToolCallRecord } from '../../history/tool-call-record.js';
import { placeOfCursor, toPlaceCursor, toToolCallPage } from './tool-calls.resolver.js';

const byTime: ToolCallOrder = { by: 'time', direction: 'desc' };
const byDuration: ToolCallOrder = { by: 'duration', direction: 'asc' };
// A page looks at nothing else of its calls.
const call = (durationMs: number | null = 5) => ({ id: newId(), durationMs, name: 'a|b' }) as unknown as ToolCallRecord;
const pageOf = (found: HistoryPage, args: Parameters<typeof toWantedPage>[0], order = byTime) =>
  toToolCallPage(found, {
    page: toWantedPage(args),
    order,
    count: () => Promise.resolve({ count: 7, isExact: false }),
  });

describe('toToolCallPage', () => {
  it('continues after the last call of the page', () => {
    const rows = [call(), call()];
    const [, last] = rows;
    const { pageInfo, edges } = pageOf({ rows, next: { id: last?.id ?? '' } }, { first: 2 });
    expect(pageInfo).toMatchObject({ hasNextPage: true, hasPreviousPage: false, endCursor: edges[1]?.cursor });
  });

  it('continues where the history stopped searching, even after an empty page', () => {
    const place = { id: newId() };
    const { nodes, pageInfo } = pageOf({ rows: [], next: place }, { first: 2, after: 'x' });
    expect(nodes).toEqual([]);
    expect(pageInfo).toMatchObject({ hasNextPage: true, hasPreviousPage: true, startCursor: null });
    expect(placeOfCursor(byTime, pageInfo.endCursor ?? '', 'after')).toEqual(place);
  });

  it('reverses a page that is read from the end', () => {
    const rows = [call(), call()];
    const place = { id: newId() };
    const { nodes, pageInfo, edges } = pageOf({ rows, next: place }, { last: 5 });
    expect(nodes).toEqual(rows.toReversed());
    expect(pageInfo).toMatchObject({ hasNextPage: false, hasPreviousPage: true, endCursor: edges[1]?.cursor });
    expect(placeOfCursor(byTime, pageInfo.startCursor ?? '', 'before')).toEqual(place);
  });

  it('counts the total once, and only if it is selected', async () => {
    let counted = 0;
    const page = toToolCallPage(
      { rows: [], next: null },
      {
        page: toWantedPage({}),
        order: byTime,
        count: () => {
          counted += 1;
          return Promise.resolve({ count: 7, isExact: false });
        },
      },
    );
    expect(counted).toBe(0);
    expect([await page.totalCount, await page.totalCountIsExact, counted]).toEqual([7, false, 1]);
  });
});

describe('cursor of a tool call list', () => {
  it('decodes to the position that it was made from', () => {
    const place = { id: newId(), durationMs: 12, name: 'crm|find' };
    expect(placeOfCursor(byDuration, toPlaceCursor(byDuration, place), 'after')).toEqual(place);
    expect(placeOfCursor(byTime, toPlaceCursor(byTime, place), 'after')).toEqual({ id: place.id });
  });

  it('fails in a list with another order', () => {
    const cursor = toPlaceCursor(byTime, { id: newId() });
    expect(() => placeOfCursor(byDuration, cursor, 'after')).toThrow(
      expect.objectContaining({ code: 'invalid_cursor', field: 'after' }),
    );
    const forged = toPlaceCursor(byDuration, { id: 'x', durationMs: 1, name: 'y' });
    expect(() => placeOfCursor(byDuration, forged, 'before')).toThrow(expect.objectContaining({ field: 'before' }));
  });
});
