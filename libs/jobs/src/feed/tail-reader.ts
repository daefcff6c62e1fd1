import { Inject, Injectable } from '@nestjs/common';

import { BUS, type Bus, LOGGER, type Logger, systemClock, type Timer } from '#platform';

import { LocalEvents } from '../events/local-events.js';
import { FeedRepository, isFull } from './feed.repository.js';
import { JobTail } from './job-tail.js';

/** A live tail is read at least this often, because hints can be lost. */
const pollMs = 1_500;

/**
 * Keeps the live tails of this process up to date. One statement reads all changed tails of a workspace. Hints during a read cause one more
 * read.
 */
@Injectable()
export class TailReader {
  private readonly tails = new Map<string, JobTail>();
  private readonly dirty = new Set<JobTail>();
  private unsubscribe: (() => void)[] = [];
  private poll: Timer | undefined;
  private reading = false;

  constructor(
    private readonly repository: FeedRepository,
    private readonly local: LocalEvents,
    @Inject(BUS) private readonly bus: Bus,
    @Inject(LOGGER) private readonly logger: Logger,
  ) {}

  get size(): number {
    return this.tails.size;
  }

  open(workspaceId: string, jobId: string): JobTail {
    const tail = this.tails.get(jobId) ?? new JobTail(workspaceId, jobId);
    tail.viewers += 1;
    if (this.tails.size === 0) this.listen();
    this.tails.set(jobId, tail);
    return tail;
  }

  close(tail: JobTail): void {
    tail.viewers -= 1;
    if (tail.viewers > 0) return;
    this.tails.delete(tail.jobId);
    this.dirty.delete(tail);
    if (this.tails.size === 0) this.stop();
  }

  /** Resolves when `tail` may have grown, or `signal` aborts. */
  async wait(tail: JobTail, signal: AbortSignal): Promise<void> {
    const changed = tail.changed(signal);
    if (tail.isBehind) this.markDirty(tail);
    await changed;
  }

  stop(): void {
    for (const off of this.unsubscribe.splice(0)) off();
    this.poll?.cancel();
    this.poll = undefined;
  }

  private listen(): void {
    const { bus, local } = this;
    this.unsubscribe = [
      local.subscribe(({ jobId, events }) => this.tails.get(jobId)?.push(events)),
      bus.subscribe('job-events', ({ jobId, seq }) => {
        const tail = this.tails.get(jobId);
        if (tail === undefined || seq <= tail.last) return;
        tail.hinted = Math.max(tail.hinted, seq);
        this.markDirty(tail);
      }),
      bus.onGap(() => {
        this.markAllDirty();
      }),
    ];
    this.schedulePoll();
  }

  private schedulePoll(): void {
    this.poll = systemClock.after(pollMs, () => {
      this.markAllDirty();
      this.schedulePoll();
    });
  }

  private markAllDirty(): void {
    for (const tail of this.tails.values()) this.markDirty(tail);
  }

  private markDirty(tail: JobTail): void {
    // The tail's first viewer is reading now; it compares its result with `hinted` afterwards.
    if (tail.last < 0) return;
    this.dirty.add(tail);
    if (this.reading) return;
    this.reading = true;
    setImmediate(() => void this.readDirty());
  }

  private async readDirty(): Promise<void> {
    while (this.dirty.size > 0) {
      const tails = [...this.dirty];
      this.dirty.clear();
      await Promise.all(tails.map((tail) => this.read(tail)));
    }
    this.reading = false;
  }

  private async read(tail: JobTail): Promise<void> {
    const { workspaceId, jobId, last } = tail;
    try {
      const events = await this.repository.readAfter(workspaceId, { jobId, after: last });
      // The log of this tail begins with a gap (it was trimmed), so its viewers read it themselves and only need to wake.
      const isFresh = tail.push(events);
      if (!isFresh && events.length > 0) tail.wake();
      if (isFresh && isFull(events)) this.dirty.add(tail);
    } catch (error) {
      // The poll reads again, so viewers wait a little longer and lose no event.
      this.logger.warn({ err: error, jobId, workspaceId }, 'reading a live log failed');
    }
  }
}
