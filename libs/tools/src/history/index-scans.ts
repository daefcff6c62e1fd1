import { argumentContent } from './argument-content.js';
import type { Aspect, CallTest } from './call-tests.js';
import type { Bind, Sql } from './statement.js';
import { likeOf, type ToolCallFilter, wordsOf } from './tool-call-filter.js';

/**
 * Maximum number of calls that a scan examines before a page ends early. Scattered rows cost more than neighbours; the calls of a time span
 * are neighbours.
 */
export const SCAN_LIMITS = { rows: 2_000, neighbours: 6_000, found: 1_000 } as const;
/** A scan of more pieces costs more to plan than it saves. */
export const MAX_PIECES = 24;

/** The statuses of calls that have not ended. */
export const OPEN_STATUSES = `('pending', 'awaiting_approval', 'awaiting_client', 'running')`;
/** The text equals the predicates of the partial indexes, so that the planner can use them. */
export const SETTLED = `t.status NOT IN ${OPEN_STATUSES}`;
const OPEN = `t.status IN ${OPEN_STATUSES}`;

/**
 * A scan over the calls that match one aspect of a filter: pieces of an index, each in the order of ids. A list uses one scan; the other
 * fields of the filter are tested row by row.
 */
export interface IndexScan {
  readonly aspect: Aspect;
  /** Conditions on `t`. Each call of the scan matches exactly one piece. */
  readonly pieces: readonly Sql[];
  /** Maximum number of calls that the scan examines. */
  readonly reach: number;
  /** Whether the index has another order. Such a scan is useful only if it reaches its end within the limit. */
  readonly isUnordered: boolean;
  /** The search for contents, which no index orders by id. The pieces are the calls that the search does not cover. */
  readonly search: { readonly isError: boolean; readonly contents: readonly string[] } | null;
}

/** The values in the workspace that match a pattern; null: too many to list. */
export interface Occurring {
  readonly names: readonly string[] | null;
  readonly outcomes: readonly string[] | null;
}

/** The scans that can serve a filter: the most selective kinds first, the scan of all calls last. Pure. */
export function scansOf(
  filter: ToolCallFilter,
  tests: readonly CallTest[],
  occurring: Occurring,
): readonly IndexScan[] {
  const lay = new ScanBuilder(filter, tests);
  return [
    ...lay.contents(),
    ...lay.whole('job', filter.jobId, { isUnordered: true }),
    ...lay.whole('approver', filter.approver),
    ...lay.whole('workflow', filter.workflowId),
    ...lay.settled('thread', filter.threadId),
    ...lay.settled('user', filter.createdBy),
    ...lay.outcomes(occurring.outcomes),
    ...lay.tools(occurring.names),
    ...lay.runtimes(),
    ...lay.durations(),
    fullScan,
  ];
}

/** Whether the index of outcomes contains all calls that match the filter. It does not contain completed calls. */
export function isOfOutcome({ statuses, errorPhase, errorCode }: ToolCallFilter): boolean {
  if (errorPhase !== undefined || errorCode !== undefined) return true;
  return statuses !== undefined && !statuses.includes('completed');
}

const plain = { reach: SCAN_LIMITS.rows, isUnordered: false, search: null } as const;

/** The scan of all calls. */
export const fullScan: IndexScan = { ...plain, aspect: 'time', pieces: [() => 'true'], reach: SCAN_LIMITS.neighbours };

class ScanBuilder {
  constructor(
    private readonly filter: ToolCallFilter,
    private readonly tests: readonly CallTest[],
  ) {}

  contents(): IndexScan[] {
    const { arguments: conditions = [], errorText } = this.filter;
    const of = (aspect: Aspect, isError: boolean, contents: readonly string[]): IndexScan[] =>
      contents.length === 0
        ? []
        : [{ ...plain, aspect, pieces: [this.open(aspect)], search: { isError, contents }, reach: SCAN_LIMITS.found }];
    return [...of('arguments', false, conditions.map(argumentContent)), ...of('words', true, wordsOf(errorText ?? ''))];
  }

  /** A scan of an index that also contains open calls. */
  whole(aspect: Aspect, wanted: unknown, more: { readonly isUnordered?: boolean } = {}): IndexScan[] {
    return wanted === undefined ? [] : [{ ...plain, ...more, aspect, pieces: [(bind) => this.testOf(aspect, bind)] }];
  }

  /** A scan of an index that contains only settled calls, with a second piece for open calls. */
  settled(aspect: Aspect, wanted: unknown): IndexScan[] {
    if (wanted === undefined) return [];
    return [{ ...plain, aspect, pieces: [(bind) => `${SETTLED} AND ${this.testOf(aspect, bind)}`, this.open(aspect)] }];
  }

  outcomes(occurring: readonly string[] | null): IndexScan[] {
    if (!isOfOutcome(this.filter) || occurring === null) return [];
    const isOpen = this.filter.statuses?.some((status) => OPEN_STATUSES.includes(`'${status}'`)) ?? false;
    return this.equal('outcome', ['t.outcome', occurring], isOpen);
  }

  tools(occurring: readonly string[] | null): IndexScan[] {
    const { tool } = this.filter;
    if (tool === undefined) return [];
    const names = likeOf(tool) === null ? [tool] : occurring;
    return names === null ? [] : this.equal('tool', [`${SETTLED} AND t.name`, names], true);
  }

  /** No index contains the tools of the server, which run most calls. */
  runtimes(): IndexScan[] {
    const { runtimes } = this.filter;
    if (runtimes === undefined || runtimes.includes('server')) return [];
    return this.equal('runtime', [`${SETTLED} AND t.runtime <> 'server' AND t.runtime`, runtimes], true);
  }

  /** The index of durations also contains the names of tools. */
  durations(): IndexScan[] {
    const { minDurationMs, maxDurationMs, tool } = this.filter;
    if (minDurationMs === undefined && maxDurationMs === undefined) return [];
    const ofTool =
      tool !== undefined && likeOf(tool) === null ? (bind: Bind) => ` AND ${this.testOf('tool', bind)}` : () => '';
    const piece: Sql = (bind) => `t.duration_ms IS NOT NULL AND ${this.testOf('duration', bind)}${ofTool(bind)}`;
    return [{ ...plain, aspect: 'duration', pieces: [piece], isUnordered: true }];
  }

  private equal(
    aspect: Aspect,
    [column, values]: readonly [string, readonly string[]],
    withOpen: boolean,
  ): IndexScan[] {
    if (values.length > MAX_PIECES) return [];
    const settled = values.map(
      (value): Sql =>
        (bind) =>
          `${column} = ${bind(value, 'text')}`,
    );
    const pieces = withOpen ? [...settled, this.open(aspect)] : settled;
    return [{ ...plain, aspect, pieces: pieces.length === 0 ? [() => 'false'] : pieces }];
  }

  private open(aspect: Aspect): Sql {
    return (bind) => `${OPEN} AND ${this.testOf(aspect, bind)}`;
  }

  private testOf(aspect: Aspect, bind: Bind): string {
    return this.tests
      .filter((test) => test.aspect === aspect)
      .map(({ sql }) => sql('t', bind))
      .join(' AND ');
  }
}

/** How far a scan gets within its limit: to its end, to the call with this id, or unknown. */
export type ScanEnd =
  { readonly type: 'end' } | { readonly type: 'at'; readonly id: string } | { readonly type: 'unknown' };

/** A scan with its end. */
export interface MeasuredScan {
  readonly trail: IndexScan;
  readonly end: ScanEnd;
}

/**
 * Chooses the scan for a list by time. The first scan that ends within its limit is best, because it finds every call. Otherwise the best is
 * the scan that gets furthest, so that a page covers the longest time span. Null: no scan is useful. Pure.
 */
export function chooseScan(measured: readonly MeasuredScan[], direction: 'asc' | 'desc'): MeasuredScan | null {
  const whole = measured.find(({ end }) => end.type === 'end');
  if (whole !== undefined) return whole;
  const further = (a: string, b: string) => (direction === 'desc' ? a < b : a > b);
  return measured.reduce<MeasuredScan | null>((best, next) => {
    if (next.end.type !== 'at') return best;
    return best?.end.type === 'at' && !further(next.end.id, best.end.id) ? best : next;
  }, null);
}
