import { Injectable } from '@nestjs/common';

import { Config } from '#platform';
import { SubJobSweeper, ToolQueueSweeper, ToolResults } from '#tools';

/**
 * What goes on beside the jobs of a worker for their calls elsewhere: what isolated tools send back, a look at those that do not,
 * and the jobs that calls have become.
 */
@Injectable()
export class ToolUpkeep {
  constructor(
    private readonly results: ToolResults,
    private readonly sweeper: ToolQueueSweeper,
    private readonly subJobs: SubJobSweeper,
    private readonly config: Config,
  ) {}

  start(): void {
    this.results.start();
    this.sweeper.start(this.config.values.LEASE_MS / 2);
    this.subJobs.start(this.config.values.LEASE_MS / 2);
  }

  async stop(): Promise<void> {
    await Promise.all([this.results.stop(), this.sweeper.stop(), this.subJobs.stop()]);
  }
}
