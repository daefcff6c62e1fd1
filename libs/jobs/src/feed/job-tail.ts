import type { JobEvent } from '../events/job-event.js';

/** Limits of the events that a tail keeps for viewers that are a little behind; older events are read from the log. */
const maxKept = 512;
const maxKeptLength = 512 * 1024;

/**
 * The newest part of one job's log, shared by all its viewers in this process. A viewer has only a cursor and pulls the events after it;
 * the tail keeps no queue per viewer.
 */
export class JobTail {
  private kept: JobEvent[] = [];
  private keptLength = 0;
  private waiting = new Set<() => void>();
  /** The log continues after a gap, so viewers must read it themselves. */
  private hasHole = false;
  viewers = 0;
  /** The number of the last event read; -1 before the first read. */
  last = -1;
  /** The log contains at least this many events, according to hints. */
  hinted = 0;

  constructor(
    readonly workspaceId: string,
    readonly jobId: string,
  ) {}

  get isBehind(): boolean {
    return this.hinted > this.last;
  }

  /** Adds events only if they continue the tail without a gap; returns whether any was new. */
  push(events: readonly JobEvent[]): boolean {
    let fresh = false;
    this.hasHole = false;
    for (const event of events) {
      if (event.seq <= this.last) continue;
      // Events are missing: they were not read yet, or trimmed. Only the log shows which.
      if (event.seq !== this.last + 1) {
        this.hasHole = true;
        break;
      }
      this.kept.push(event);
      this.keptLength += lengthOf(event);
      this.last = event.seq;
      fresh = true;
    }
    while (this.kept.length > maxKept || this.keptLength > maxKeptLength) {
      const oldest = this.kept.shift();
      this.keptLength -= oldest === undefined ? 0 : lengthOf(oldest);
    }
    if (fresh) this.wake();
    return fresh;
  }

  /** A viewer has read further than the tail: the tail continues from its cursor. */
  align(cursor: number): void {
    if (cursor <= this.last) return;
    this.kept = [];
    this.keptLength = 0;
    this.last = cursor;
  }

  /** The events after `after`; empty: none yet; undefined: they must be read from the log. */
  after(after: number): readonly JobEvent[] | undefined {
    if (after > this.last) return undefined;
    if (after === this.last) return this.hasHole ? undefined : [];
    const first = this.kept[0];
    if (first === undefined || first.seq > after + 1) return undefined;
    return this.kept.slice(after + 1 - first.seq);
  }

  /** Resolves when events have arrived, or `signal` aborts. */
  async changed(signal: AbortSignal): Promise<void> {
    if (signal.aborted) return;
    await new Promise<void>((resolve) => {
      const done = () => {
        this.waiting.delete(done);
        signal.removeEventListener('abort', done);
        resolve();
      };
      this.waiting.add(done);
      signal.addEventListener('abort', done, { once: true });
    });
  }

  wake(): void {
    for (const done of [...this.waiting]) done();
  }
}

/** Approximate: counts the texts that may be long. */
function lengthOf(event: JobEvent): number {
  if (event.type === 'text-delta' || event.type === 'reasoning-delta') return event.body.text.length + 100;
  return event.type === 'node-finished' || event.type === 'branch-finished' ? event.body.output.length + 300 : 300;
}
