import type { PrismaTransaction } from '#platform';

import { type CallTest, callTests } from './call-tests.js';
import { chooseScan, type IndexScan, type MeasuredScan, type ScanEnd, scansOf } from './index-scans.js';
import { findOccurring } from './occurring.repository.js';
import { type IdRange, trailEndSql } from './scan-sql.js';
import { Statement } from './statement.js';
import type { ToolCallFilter } from './tool-call-filter.js';

/** The chosen scan of a list, and the tests that rows of the scan may still fail. */
export interface ChosenScan {
  readonly trail: IndexScan;
  /** The tests that the scan does not guarantee. */
  readonly tests: readonly CallTest[];
  /** The end of the scan. Null: no test is left, so every call of the scan matches and its end does not matter. */
  readonly end: ScanEnd | null;
  /** The ids that the search found, if the scan has a search. */
  readonly found: readonly string[] | undefined;
}

interface Found {
  readonly ids: readonly string[];
  readonly reach: string | null;
}

/** Finds the best scan for `filter` within a range of ids. */
export async function findScan(tx: PrismaTransaction, filter: ToolCallFilter, stretch: IdRange): Promise<ChosenScan> {
  const tests = callTests(filter);
  const trails = scansOf(filter, tests, await findOccurring(tx, stretch.workspaceId, filter));
  const only = trails.find((trail) => coversAllTests(trail, tests));
  if (only !== undefined) return { trail: only, tests: remaining(only, tests), end: null, found: undefined };
  const { measured, found } = await measure(tx, trails, stretch);
  const chosen = chooseScan(measured, stretch.direction);
  if (chosen === null) throw new Error('the way through all calls was not measured');
  const { trail, end } = chosen;
  return { trail, end, tests: remaining(trail, tests), found: found.get(trail) };
}

function coversAllTests(trail: IndexScan, tests: readonly CallTest[]): boolean {
  return (
    !trail.isUnordered && trail.search === null && remaining(trail, tests).every(({ aspect }) => aspect === 'time')
  );
}

/**
 * The tests that the scan does not cover. A search covers at most `SEARCHED` words or values: with more, its own aspect is tested, too. The
 * time is always tested.
 */
function remaining(trail: IndexScan, tests: readonly CallTest[]): readonly CallTest[] {
  const isPartial = (trail.search?.contents.length ?? 0) > SEARCHED;
  return tests.filter(({ aspect }) => aspect === 'time' || aspect !== trail.aspect || isPartial);
}

const SEARCHED = 3;

async function measure(tx: PrismaTransaction, trails: readonly IndexScan[], stretch: IdRange) {
  const { bind, values } = new Statement();
  const { after, before, direction } = stretch;
  // The first or the last id of the workspace, limited to the range; null: the workspace has no calls.
  const outermost = (id: string, end: 'asc' | 'desc') => `(SELECT ${id} FROM tool_call t
    WHERE t.workspace_id = ${bind(stretch.workspaceId, 'uuid')} ORDER BY t.id ${end} LIMIT 1)`;
  const columns = trails.map((trail, i) => {
    if (trail.search === null) return `(${trailEndSql(trail, stretch, bind)}) AS "${i}"`;
    const { isError, contents } = trail.search;
    const wanted = `${bind(isError, 'boolean')}, ${bind(contents.slice(0, SEARCHED), 'text[]')}`;
    const first = outermost(`greatest(t.id, ${bind(after, 'uuid')})`, 'asc');
    const last = outermost(`least(t.id, ${bind(before, 'uuid')})`, 'desc');
    return `(SELECT row_to_json(s) FROM tool_call_search(${wanted}, ${first}, ${last}, ${bind(direction === 'desc', 'boolean')}, ${trail.reach}) s) AS "${i}"`;
  });
  const rows = await tx.$queryRawUnsafe<Record<string, string | Found | null>[]>(
    `SELECT ${columns.join(', ')}`,
    ...values,
  );
  const found = new Map<IndexScan, readonly string[]>();
  const measured = trails.map((trail, i): MeasuredScan => {
    const value = rows[0]?.[i] ?? null;
    if (value === null) return { trail, end: { type: 'end' } };
    if (typeof value === 'string')
      return { trail, end: trail.isUnordered ? { type: 'unknown' } : { type: 'at', id: value } };
    found.set(trail, value.ids);
    return { trail, end: endOfSearch(value.reach, stretch) };
  });
  return { measured, found };
}

/** The end of a search. A search advances by whole days: if its first day has too many calls, it finds nothing. */
function endOfSearch(reach: string | null, { after, before, direction }: IdRange): ScanEnd {
  if (reach === null) return { type: 'end' };
  const isStuck = direction === 'desc' ? reach >= before : reach <= after;
  return isStuck ? { type: 'unknown' } : { type: 'at', id: reach };
}
