import type { PartRow } from '../events/commit-part.js';
import { type JobCounts, noCounts } from '../events/commit-statement.js';
import { isDelta, mergeInto, type NewJobEvent } from '../events/job-event.js';

/** When waiting text is written: whichever comes first. */
export interface FlushPolicy {
  readonly intervalMs: number;
  readonly chunks: number;
  readonly bytes: number;
}

/** What a handler wants written. Everything is optional; what belongs together is committed together. */
export interface RunWrite {
  readonly events?: readonly NewJobEvent[];
  readonly rows?: readonly PartRow[];
  readonly counts?: Partial<JobCounts>;
  /** A round or node was completed: claims count from zero again. */
  readonly progress?: boolean;
}

/** The parts of a write that a job fills in while it waits. */
export interface Pending {
  readonly events: readonly NewJobEvent[];
  readonly rows: readonly PartRow[];
  readonly counts: JobCounts;
  readonly progress: boolean;
}

/** What one job wants written and has not sent yet. Deltas of a round are merged into one. */
export class PendingWrite {
  private events: NewJobEvent[] = [];
  private rows: PartRow[] = [];
  private counts: JobCounts = noCounts;
  private progress = false;
  /** Pieces of text since the last write, and their UTF-16 units. */
  chunks = 0;
  length = 0;

  get isEmpty(): boolean {
    return this.events.length === 0 && this.rows.length === 0;
  }

  add(write: RunWrite): void {
    for (const event of write.events ?? []) mergeInto(this.events, event);
    if (write.rows !== undefined) this.rows.push(...write.rows);
    if (write.counts !== undefined) this.counts = addCounts(this.counts, write.counts);
    this.progress ||= write.progress ?? false;
  }

  /** Drops text of a round that was never sent, so that there is nothing to withdraw. */
  dropDeltas(round: number): void {
    this.events = this.events.filter((event) => !isDelta(event) || event.body.round !== round);
  }

  /** What has gathered so far; it stays. */
  copy(): Pending {
    return { events: [...this.events], rows: [...this.rows], counts: this.counts, progress: this.progress };
  }

  /** Puts back, before everything else, what was taken and could not be written. */
  putBack(earlier: Pending): void {
    this.events = [...earlier.events, ...this.events];
    this.rows = [...earlier.rows, ...this.rows];
    this.counts = addCounts(earlier.counts, this.counts);
    this.progress ||= earlier.progress;
  }

  /** Hands over what has gathered, and begins anew. */
  take(): Pending {
    const { events, rows, counts, progress } = this;
    this.events = [];
    this.rows = [];
    this.counts = noCounts;
    this.progress = false;
    this.chunks = 0;
    this.length = 0;
    return { events, rows, counts, progress };
  }
}

const countNames = Object.keys(noCounts) as readonly (keyof JobCounts)[]; // the constant has no others

export function addCounts(a: JobCounts, b: Partial<JobCounts>): JobCounts {
  return withCounts(a, b, 1);
}

export function subtractCounts(a: JobCounts, b: Partial<JobCounts>): JobCounts {
  return withCounts(a, b, -1);
}

function withCounts(a: JobCounts, b: Partial<JobCounts>, times: 1 | -1): JobCounts {
  const sum = { ...a };
  for (const name of countNames) sum[name] += times * (b[name] ?? 0);
  return sum;
}
