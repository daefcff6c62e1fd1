import { Injectable } from '@nestjs/common';

import { Config } from '#platform';
import { SubJobSweeper, ToolQueueSweeper, ToolResults } from '#tools';

/**
 * Runs besides the jobs of a worker for calls that run elsewhere: results of isolated tools, the sweep of calls without one,
 * and sub-jobs.
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
