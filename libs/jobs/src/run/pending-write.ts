import type { PartRow } from '../events/commit-part.js';
import { type JobCounts, noCounts } from '../events/commit-statement.js';
import { type Delta, isDelta, type JobEventBodies, mergeInto, type NewJobEvent } from '../events/job-event.js';

/** Limits of the buffered text, which is written when one is reached. `chunks` and `bytes` count the text of one round. */
export interface FlushPolicy {
  readonly intervalMs: number;
  readonly chunks: number;
  readonly bytes: number;
}

/** A write of a handler. All members are optional; the members of one write are committed together. */
export interface RunWrite {
  readonly events?: readonly NewJobEvent[];
  readonly rows?: readonly PartRow[];
  readonly counts?: Partial<JobCounts>;
  /** A round or node was completed: attempts count from zero again. */
  readonly progress?: boolean;
}

/** The buffered changes of one job, as `copy` and `take` return them. */
export interface Pending {
  readonly events: readonly NewJobEvent[];
  readonly rows: readonly PartRow[];
  readonly counts: JobCounts;
  readonly progress: boolean;
}

/** The unsent changes of one job. Deltas of a round are merged into one. */
export class PendingWrite {
  private events: NewJobEvent[] = [];
  private rows = new PendingRows();
  private counts: JobCounts = noCounts;
  private progress = false;
  /** Per round: pieces of text since the last write, and their UTF-16 units. */
  private readonly streams = new Map<number, { chunks: number; length: number }>();
  /** UTF-16 units of text since the last write. */
  length = 0;
  /** A round has enough buffered text for a write. */
  isDue = false;

  constructor(private readonly flush: Pick<FlushPolicy, 'chunks' | 'bytes'>) {}

  get isEmpty(): boolean {
    return this.events.length === 0 && this.rows.isEmpty;
  }

  /** How often the buffered events withdraw shown text. */
  get restarts(): number {
    return this.counts.restarts;
  }

  add(write: RunWrite): void {
    for (const event of write.events ?? []) mergeInto(this.events, event);
    if (write.rows !== undefined) this.rows.add(write.rows);
    if (write.counts !== undefined) this.counts = addCounts(this.counts, write.counts);
    this.progress ||= write.progress ?? false;
  }

  /** Adds a piece of streamed text. */
  addPiece(piece: Delta): void {
    const { round, text } = piece.body;
    mergeInto(this.events, piece);
    const stream = this.streams.get(round) ?? { chunks: 0, length: 0 };
    stream.chunks += 1;
    stream.length += text.length;
    this.streams.set(round, stream);
    this.length += text.length;
    this.isDue ||= stream.chunks >= this.flush.chunks || stream.length >= this.flush.bytes;
  }

  /**
   * Drops the unsent text of a round. The events that follow the withdrawal repeat the content of other rounds after the given lengths. So an
   * unsent delta after these lengths is dropped; if a workflow node shows it, it stays, without its offset.
   */
  withdraw({ round, contentLength, reasoningLength }: JobEventBodies['round-restarted']): void {
    this.streams.delete(round);
    this.events = this.events.flatMap((event): readonly NewJobEvent[] => {
      if (!isDelta(event)) return [event];
      if (event.body.round === round) return [];
      const { offset, ...body } = event.body;
      const isKept = offset === undefined || offset < (event.type === 'text-delta' ? contentLength : reasoningLength);
      if (isKept) return [event];
      return body.nodeId === undefined ? [] : [{ type: event.type, body }];
    });
  }

  /** A copy of the buffered changes. */
  copy(): Pending {
    return { events: [...this.events], rows: [...this.rows.list], counts: this.counts, progress: this.progress };
  }

  /** Puts refused changes back, before all others. */
  putBack(earlier: Pending): void {
    this.events = [...earlier.events, ...this.events];
    const later = this.rows.list;
    this.rows = new PendingRows();
    this.rows.add(earlier.rows);
    this.rows.add(later);
    this.counts = addCounts(earlier.counts, this.counts);
    this.progress ||= earlier.progress;
  }

  /** Returns the buffered changes and clears the buffer. */
  take(): Pending {
    const { events, counts, progress } = this;
    const rows = this.rows.list;
    this.events = [];
    this.rows = new PendingRows();
    this.counts = noCounts;
    this.progress = false;
    this.streams.clear();
    this.length = 0;
    this.isDue = false;
    return { events, rows, counts, progress };
  }
}

/** Rows in order of arrival; a row with a key replaces the earlier row with the same key. */
class PendingRows {
  readonly list: PartRow[] = [];
  private places: Map<string, number> | undefined;

  get isEmpty(): boolean {
    return this.list.length === 0;
  }

  add(rows: readonly PartRow[]): void {
    for (const row of rows) {
      const place = row.key === undefined ? this.list.length : this.placeOf(`${row.part.name} ${row.key}`);
      this.list[place] = row;
    }
  }

  private placeOf(name: string): number {
    this.places ??= new Map();
    const place = this.places.get(name) ?? this.list.length;
    this.places.set(name, place);
    return place;
  }
}

const countNames = Object.keys(noCounts) as readonly (keyof JobCounts)[]; // the constant has no other keys

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
