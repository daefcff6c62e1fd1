import { Injectable } from '@nestjs/common';

import { Config } from '#platform';
import { ToolQueueSweeper, ToolResults } from '#tools';

/** What goes on beside the jobs of a worker for their isolated tools: what these send back, and a look at those that do not. */
@Injectable()
export class ToolUpkeep {
  constructor(
    private readonly results: ToolResults,
    private readonly sweeper: ToolQueueSweeper,
    private readonly config: Config,
  ) {}

  start(): void {
    this.results.start();
    this.sweeper.start(this.config.values.LEASE_MS / 2);
  }

  async stop(): Promise<void> {
    await Promise.all([this.results.stop(), this.sweeper.stop()]);
  }
}
