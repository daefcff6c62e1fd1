import type { JobEvent } from '../events/job-event.js';

/** Most events and text a tail keeps for viewers that are a little behind; older ones are read from the log. */
const maxKept = 512;
const maxKeptLength = 512 * 1024;

/**
 * The newest part of one job's log, shared by all its viewers in this process. A viewer holds a cursor only and asks for
 * what follows it; the tail holds no queue for anyone.
 */
export class JobTail {
  private kept: JobEvent[] = [];
  private keptLength = 0;
  private waiting = new Set<() => void>();
  /** The log goes on, but not where this tail ends: viewers have to look there themselves. */
  private hasHole = false;
  viewers = 0;
  /** The last number read so far; -1: nothing was read yet. */
  last = -1;
  /** The log is known to have grown to this. */
  hinted = 0;

  constructor(
    readonly workspaceId: string,
    readonly jobId: string,
  ) {}

  get isBehind(): boolean {
    return this.hinted > this.last;
  }

  /** Takes events only if they continue what is here without a gap; returns whether anything was new. */
  push(events: readonly JobEvent[]): boolean {
    let fresh = false;
    this.hasHole = false;
    for (const event of events) {
      if (event.seq <= this.last) continue;
      // Missed, or trimmed for ever: the log tells.
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

  /** A viewer has read on by itself, beyond what is here: from now on the tail continues from there. */
  align(cursor: number): void {
    if (cursor <= this.last) return;
    this.kept = [];
    this.keptLength = 0;
    this.last = cursor;
  }

  /** What follows `after`; undefined when that is not known here and has to be read from the log. Empty: nothing new yet. */
  after(after: number): readonly JobEvent[] | undefined {
    if (after > this.last) return undefined;
    if (after === this.last) return this.hasHole ? undefined : [];
    const first = this.kept[0];
    if (first === undefined || first.seq > after + 1) return undefined;
    return this.kept.slice(after + 1 - first.seq);
  }

  /** Resolves when something new has arrived, or `signal` aborts. */
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

/** About: what may be long is counted. */
function lengthOf(event: JobEvent): number {
  if (event.type === 'text-delta' || event.type === 'reasoning-delta') return event.body.text.length + 100;
  return event.type === 'node-finished' || event.type === 'branch-finished' ? event.body.output.length + 300 : 300;
}
