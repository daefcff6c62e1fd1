import { Inject, Injectable, type OnModuleDestroy } from '@nestjs/common';

import { GroupWriter, LOGGER, type Logger, newId, systemClock, type Timer } from '#platform';

import { PresenceRepository, type WatchedJob } from './presence.repository.js';

interface Watched extends WatchedJob {
  viewers: number;
  /** Resolves once the row is written or could not be written. */
  here: Promise<void>;
}

/**
 * Records which jobs have viewers in this process, so that every process knows. A viewer is recorded before it receives anything, because
 * most jobs end before the first refresh; a viewer that leaves is removed a moment later. Changes of one tick share a statement, and so
 * does the refresh of all rows; a process without viewers sends no statement.
 */
@Injectable()
export class Presence implements OnModuleDestroy {
  protected readonly refreshMs: number = 15_000;
  /** Delay after a failed write, ms. Less than FOREGROUND_GRACE_MS, after which jobs without a viewer may be cancelled. */
  protected readonly retryMs: number = 1_000;
  /** A viewer often reconnects at once, and a job's end closes all its viewers: the delay combines these changes into one write. */
  protected readonly leaveMs: number = 250;
  /** A viewer waits at most this long for a slow database. */
  protected readonly timeoutMs: number = 1_000;
  private readonly process = newId();
  private readonly watched = new Map<string, Watched>();
  private readonly left = new Map<string, WatchedJob>();
  private readonly writer: GroupWriter<readonly WatchedJob[], undefined>;
  private refresh: Timer | undefined;
  private leaving: Timer | undefined;

  constructor(
    private readonly repository: PresenceRepository,
    @Inject(LOGGER) private readonly logger: Logger,
  ) {
    this.writer = new GroupWriter((batches) => this.write(batches), systemClock, { tickMs: 0, maxBatch: 500 });
  }

  /** Jobs that have viewers in this process. */
  get size(): number {
    return this.watched.size;
  }

  /** Resolves once the viewer is recorded, or after `timeoutMs`. Never rejects: the viewer is served in any case. */
  enter({ workspaceId, jobId }: WatchedJob): Promise<void> {
    const known = this.watched.get(jobId);
    if (known !== undefined) {
      known.viewers += 1;
      return known.here;
    }
    const job = { workspaceId, jobId, viewers: 1, here: Promise.resolve() };
    this.watched.set(jobId, job);
    if (!this.left.delete(jobId)) job.here = atMost(this.timeoutMs, this.store([job]));
    if (this.refresh === undefined) this.refreshLater();
    return job.here;
  }

  /** Call it once for each `enter`. */
  leave({ workspaceId, jobId }: WatchedJob): void {
    const job = this.watched.get(jobId);
    if (job === undefined) return;
    job.viewers -= 1;
    if (job.viewers > 0) return;
    this.watched.delete(jobId);
    this.left.set(jobId, { workspaceId, jobId });
    if (this.watched.size === 0) this.stopRefresh();
    this.leaving ??= systemClock.after(this.leaveMs, () => {
      this.leaving = undefined;
      void this.storeLeft();
    });
  }

  /** Removes all viewers of this process, if the database still answers. */
  async onModuleDestroy(): Promise<void> {
    this.stopRefresh();
    this.leaving?.cancel();
    for (const [jobId, job] of this.watched) this.left.set(jobId, job);
    this.watched.clear();
    if (this.left.size > 0) await this.storeLeft();
    await this.writer.drain();
  }

  private storeLeft(): Promise<void> {
    const left = [...this.left.values()];
    this.left.clear();
    return this.store(left);
  }

  private refreshLater(ms = this.refreshMs): void {
    this.refresh?.cancel();
    this.refresh = systemClock.after(ms, () => {
      this.refreshLater();
      void this.store([...this.watched.values()]);
    });
  }

  private stopRefresh(): void {
    this.refresh?.cancel();
    this.refresh = undefined;
  }

  private async store(jobs: readonly WatchedJob[]): Promise<void> {
    await this.writer.submit(jobs).catch((err: unknown) => {
      this.logger.warn({ err }, 'the presence of viewers could not be stored; the next refresh tries again');
      if (this.watched.size > 0) this.refreshLater(this.retryMs);
    });
  }

  /** Writes the current state, not that of the call: batches run one at a time, so the last one is right. */
  private async write(batches: readonly (readonly WatchedJob[])[]): Promise<undefined[]> {
    const jobs = new Map(batches.flat().map(({ workspaceId, jobId }) => [jobId, { workspaceId, jobId }]));
    const watched = [...jobs.values()].filter(({ jobId }) => this.watched.has(jobId));
    const left = [...jobs.values()].filter(({ jobId }) => !this.watched.has(jobId));
    await this.repository.store(this.process, watched, left);
    return batches.map(() => undefined);
  }
}

/** Resolves with `work`, which never rejects, or after `ms`. */
function atMost(ms: number, work: Promise<void>): Promise<void> {
  return new Promise((resolve) => {
    const timeout = systemClock.after(ms, resolve);
    void work.then(() => {
      timeout.cancel();
      resolve();
    });
  });
}
