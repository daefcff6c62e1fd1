import { argumentContent } from './argument-content.js';
import type { Aspect, CallTest } from './call-tests.js';
import type { Bind, Sql } from './statement.js';
import { likeOf, type ToolCallFilter, wordsOf } from './tool-call-filter.js';

/**
 * How many calls are looked at along a trail before a page ends where it is. Rows anywhere in the table cost more than
 * neighbours, which is what the calls of a stretch of time are.
 */
export const REACH = { rows: 2_000, neighbours: 6_000, found: 1_000 } as const;
/** A trail of more pieces costs more to plan than it saves. */
export const MAX_PIECES = 24;

/** Of calls that have not ended. */
export const OPEN_STATUSES = `('pending', 'awaiting_approval', 'awaiting_client', 'running')`;
/** As the predicates of the partial indexes have it, word by word. */
export const SETTLED = `t.status NOT IN ${OPEN_STATUSES}`;
const OPEN = `t.status IN ${OPEN_STATUSES}`;

/**
 * A way to the calls that fit one aspect of a filter: pieces of an index, each in the order of ids. A list is read along one
 * trail; what else the filter asks is tested on the way.
 */
export interface IndexScan {
  readonly aspect: Aspect;
  /** Conditions on `t`; a call of the trail is in exactly one piece. */
  readonly pieces: readonly Sql[];
  /** How far it is followed, in calls. */
  readonly reach: number;
  /** Its index is in another order: it is of use only when it can be taken whole. */
  readonly isLoose: boolean;
  /** For contents, which no index leads to in order: what to search for. The pieces are what the search leaves out. */
  readonly search: { readonly isError: boolean; readonly contents: readonly string[] } | null;
}

/** What occurs in the workspace and fits a pattern; null: too many to go by. */
export interface Occurring {
  readonly names: readonly string[] | null;
  readonly outcomes: readonly string[] | null;
}

/** The trails that lead to what a filter wants: the narrowest kinds first, the way through all calls last. Pure. */
export function trailsOf(
  filter: ToolCallFilter,
  tests: readonly CallTest[],
  occurring: Occurring,
): readonly IndexScan[] {
  const lay = new TrailMaker(filter, tests);
  return [
    ...lay.contents(),
    ...lay.whole('job', filter.jobId, { isLoose: true }),
    ...lay.whole('approver', filter.approver),
    ...lay.whole('workflow', filter.workflowId),
    ...lay.settled('thread', filter.threadId),
    ...lay.settled('user', filter.createdBy),
    ...lay.outcomes(occurring.outcomes),
    ...lay.tools(occurring.names),
    ...lay.runtimes(),
    ...lay.durations(),
    wayThroughAll,
  ];
}

/** Whether the index of outcomes holds all that a filter wants: calls that completed are not in it. */
export function isOfOutcome({ statuses, errorPhase, errorCode }: ToolCallFilter): boolean {
  if (errorPhase !== undefined || errorCode !== undefined) return true;
  return statuses !== undefined && !statuses.includes('completed');
}

const plain = { reach: REACH.rows, isLoose: false, search: null } as const;

/** The trail to all calls. */
export const wayThroughAll: IndexScan = { ...plain, aspect: 'time', pieces: [() => 'true'], reach: REACH.neighbours };

class TrailMaker {
  constructor(
    private readonly filter: ToolCallFilter,
    private readonly tests: readonly CallTest[],
  ) {}

  contents(): IndexScan[] {
    const { arguments: conditions = [], errorText } = this.filter;
    const of = (aspect: Aspect, isError: boolean, contents: readonly string[]): IndexScan[] =>
      contents.length === 0
        ? []
        : [{ ...plain, aspect, pieces: [this.open(aspect)], search: { isError, contents }, reach: REACH.found }];
    return [...of('arguments', false, conditions.map(argumentContent)), ...of('words', true, wordsOf(errorText ?? ''))];
  }

  /** An index that holds open calls as well. */
  whole(aspect: Aspect, wanted: unknown, more: { readonly isLoose?: boolean } = {}): IndexScan[] {
    return wanted === undefined ? [] : [{ ...plain, ...more, aspect, pieces: [(bind) => this.testOf(aspect, bind)] }];
  }

  /** An index that holds settled calls; the open ones are read beside it. */
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

  /** Most calls are answered by this server: no index is kept of those. */
  runtimes(): IndexScan[] {
    const { runtimes } = this.filter;
    if (runtimes === undefined || runtimes.includes('server')) return [];
    return this.equal('runtime', [`${SETTLED} AND t.runtime <> 'server' AND t.runtime`, runtimes], true);
  }

  /** This index knows the tools as well. */
  durations(): IndexScan[] {
    const { minDurationMs, maxDurationMs, tool } = this.filter;
    if (minDurationMs === undefined && maxDurationMs === undefined) return [];
    const ofTool =
      tool !== undefined && likeOf(tool) === null ? (bind: Bind) => ` AND ${this.testOf('tool', bind)}` : () => '';
    const piece: Sql = (bind) => `t.duration_ms IS NOT NULL AND ${this.testOf('duration', bind)}${ofTool(bind)}`;
    return [{ ...plain, aspect: 'duration', pieces: [piece], isLoose: true }];
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

/** How far a scan reaches within its limit: to its end, to the call of this id, or unknown. */
export type ScanEnd =
  { readonly type: 'end' } | { readonly type: 'at'; readonly id: string } | { readonly type: 'unknown' };

/** A trail with its end. */
export interface MeasuredScan {
  readonly trail: IndexScan;
  readonly end: ScanEnd;
}

/**
 * The trail a list by time is read along: the first that ends within its reach, since that answers everything; else the one
 * whose calls lie the furthest apart, so that a page gets the furthest. Null for trails that are of no use. Pure.
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
