import { Inject, Injectable } from '@nestjs/common';

import type { JobRef } from '#jobs';
import { BUS, type Bus, type Clock, LOGGER, type Logger, systemClock, type Timer } from '#platform';

import { SubJobs } from './sub-jobs.js';

/** Sweeps sub-jobs and listens for their hints. Runs in every worker process; row locks let only one of them act. */
@Injectable()
export class SubJobSweeper {
  private readonly clock: Clock = systemClock;
  private readonly looking = new Set<Promise<void>>();
  private timer: Timer | undefined;
  private wayOut: readonly (() => void)[] = [];
  private isStarted = false;

  constructor(
    private readonly subJobs: SubJobs,
    @Inject(BUS) private readonly bus: Bus,
    @Inject(LOGGER) private readonly logger: Logger,
  ) {}

  /** Sweeps now and about every so many ms; half a lease is what others count on. */
  start(everyMs: number): void {
    if (this.isStarted) return;
    this.isStarted = true;
    this.wayOut = [
      this.bus.subscribe('sub-jobs', (job) => {
        void this.look(job);
      }),
      this.bus.onGap(() => {
        void this.look(null);
      }),
    ];
    this.sweepNow(everyMs);
  }

  /** Resolves when nothing is looked after any more. */
  async stop(): Promise<void> {
    this.isStarted = false;
    for (const off of this.wayOut) off();
    this.timer?.cancel();
    await Promise.all(this.looking);
  }

  private sweepNow(everyMs: number): void {
    void this.look(null).finally(() => {
      if (!this.isStarted) return;
      this.timer = this.clock.after(everyMs * (0.75 + Math.random() / 2), () => {
        this.sweepNow(everyMs);
      });
    });
  }

  private look(job: JobRef | null): Promise<void> {
    const done = this.subJobs
      .sweep(job)
      .catch((err: unknown) => {
        this.logger.warn({ err }, 'looking for due sub-jobs failed');
      })
      .finally(() => {
        this.looking.delete(done);
      });
    this.looking.add(done);
    return done;
  }
}
