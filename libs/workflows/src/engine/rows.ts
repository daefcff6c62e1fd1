import { LIMITS } from '../definition/limits.js';
import { textOf } from './live-run.js';
import { isFinished, type NodeKey, type NodeRunRow } from './node-run.js';

/** The rows that earlier leases stored, and the ordinals that are left for this lease. */
export class Rows {
  private readonly known: Map<string, NodeRunRow>;
  /** Ordinals without a row, because their rows were never committed. */
  private readonly gaps: Iterator<number>;
  private last: number;
  private executed: number;

  constructor(rows: readonly NodeRunRow[]) {
    this.known = new Map(rows.map((row) => [textOf(row), row]));
    const taken = new Set(rows.map(({ ordinal }) => ordinal));
    this.last = rows.reduce((last, { ordinal }) => Math.max(last, ordinal), 0);
    this.gaps = gapsIn(taken, this.last);
    this.executed = rows.filter(isStep).length;
  }

  /** Returns the row of a node run once and drops it: it is only needed until the run has continued from it. */
  take(key: NodeKey): NodeRunRow | undefined {
    const name = textOf(key);
    const row = this.known.get(name);
    this.known.delete(name);
    return row;
  }

  /** Rows that an earlier lease left unfinished and this one did not resume, because a sibling had failed. */
  get unfinished(): readonly NodeRunRow[] {
    return [...this.known.values()].filter(({ status }) => !isFinished(status));
  }

  /** The ordinal of the next node run. */
  nextOrdinal(): number {
    const gap = this.gaps.next();
    if (gap.done !== true) return gap.value;
    this.last += 1;
    return this.last;
  }

  /** How many ordinals are left. */
  get left(): number {
    return LIMITS.nodeRuns - this.last;
  }

  /** Records that a row was begun. */
  count(row: NodeRunRow): void {
    if (isStep(row)) this.executed += 1;
  }

  get steps(): number {
    return this.executed;
  }
}

function isStep({ status, extra }: NodeRunRow): boolean {
  return status !== 'skipped' && status !== 'pending' && extra.isReused !== true;
}

function* gapsIn(taken: ReadonlySet<number>, last: number): Generator<number, undefined> {
  for (let ordinal = 1; ordinal < last; ordinal += 1) if (!taken.has(ordinal)) yield ordinal;
}
