import type { JobEvent, NewJobEvent } from './job-event.js';

/** A row of the log as it is written. */
export interface LogRow {
  readonly type: string;
  readonly body: unknown;
  /** How many events the row contains. */
  readonly events: number;
}

/** A row of the log as it is read: `seq` is the number of its last event. */
export interface StoredLogRow extends LogRow {
  readonly seq: number;
  readonly attempt: number;
  /** Ms since the epoch. */
  readonly at: number;
}

const packed = 'packed';

/**
 * The types of events that are packed: a workflow of a thousand nodes has two thousand of them. SQL that searches for one of these types must
 * also search in packs.
 */
const packable: ReadonlySet<string> = new Set(['node-started', 'node-finished', 'loop-iteration']);

/**
 * Fewer events than `min` stay separate rows. More than `max` become several packs, so that a reader of a few events does not load many.
 */
const bounds = { min: 12, max: 64, outputLength: 1_024 } as const;

/** The rows of the events of one write: long sequences of node events become one row. Pure. */
export function toLogRows(events: readonly NewJobEvent[]): readonly LogRow[] {
  if (events.length < bounds.min) return events.map(toRow);
  const rows: LogRow[] = [];
  for (let from = 0; from < events.length;) {
    const some = events.slice(from, from + bounds.max);
    const other = some.findIndex((event) => !isPackable(event));
    const pack = other === -1 ? some : some.slice(0, other);
    const taken = pack.length >= bounds.min ? [toPack(pack)] : some.slice(0, pack.length + 1).map(toRow);
    rows.push(...taken);
    from += taken.reduce((sum, row) => sum + row.events, 0);
  }
  return rows;
}

/** The events of a row after `after`, in order. */
export function eventsOf(
  row: StoredLogRow,
  { jobId, after }: { readonly jobId: string; readonly after: number },
): readonly JobEvent[] {
  const { seq: last, attempt, at, events } = row;
  const stamp = { jobId, at: Math.round(at), attempt };
  // Only NewJobEvents are written to the log, so type and body belong together.
  if (row.type !== packed) return [{ ...({ type: row.type, body: row.body } as NewJobEvent), seq: last, ...stamp }];
  const all = row.body as readonly (readonly [string, unknown])[]; // this also applies to a pack
  return all.flatMap(([type, body], i): readonly JobEvent[] => {
    const seq = last - events + i + 1;
    return seq <= after ? [] : [{ ...({ type, body } as NewJobEvent), seq, ...stamp }]; // as above
  });
}

function isPackable({ type, body }: NewJobEvent): boolean {
  return packable.has(type) && (!('output' in body) || body.output.length <= bounds.outputLength);
}

function toPack(events: readonly NewJobEvent[]): LogRow {
  return { type: packed, body: events.map(({ type, body }) => [type, body]), events: events.length };
}

function toRow({ type, body }: NewJobEvent): LogRow {
  return { type, body, events: 1 };
}
