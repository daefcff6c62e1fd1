import { Injectable } from '@nestjs/common';

import { InterruptTimers, Retention } from '#jobs';
import { Config } from '#platform';
import { ToolQueueSweeper, ToolResults } from '#tools';

/** What goes on beside the jobs of a worker: retention, timers of requests, and what isolated tools send back. */
@Injectable()
export class JobUpkeep {
  constructor(
    private readonly retention: Retention,
    private readonly timers: InterruptTimers,
    private readonly results: ToolResults,
    private readonly sweeper: ToolQueueSweeper,
    private readonly config: Config,
  ) {}

  start(): void {
    this.retention.start();
    this.timers.start();
    this.results.start();
    this.sweeper.start(this.config.values.LEASE_MS / 2);
  }

  async stop(): Promise<void> {
    await Promise.all([this.retention.stop(), this.timers.stop(), this.results.stop(), this.sweeper.stop()]);
  }
}
