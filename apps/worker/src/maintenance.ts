import { Injectable } from '@nestjs/common';

import { InterruptTimers, Retention } from '#jobs';
import { Config } from '#platform';
import { ScheduleTimers } from '#schedules';
import { SubJobs, ToolQueueSweeper, ToolResults } from '#tools';
import { TriggerWorker } from '#triggers';

/** What a worker does besides running jobs: timers of interrupts and schedules, triggers and webhooks, retention, sub-jobs, and results of isolated calls. */
@Injectable()
export class Maintenance {
  constructor(
    private readonly retention: Retention,
    private readonly timers: InterruptTimers,
    private readonly schedules: ScheduleTimers,
    private readonly triggers: TriggerWorker,
    private readonly results: ToolResults,
    private readonly toolQueue: ToolQueueSweeper,
    private readonly subJobs: SubJobs,
    private readonly config: Config,
  ) {}

  async start(): Promise<void> {
    await this.retention.start();
    await this.timers.start();
    await this.schedules.start();
    await this.triggers.start();
    await this.subJobs.start();
    this.results.start();
    this.toolQueue.start(this.config.values.LEASE_MS / 2);
  }

  async stop(): Promise<void> {
    const { retention, timers, schedules, triggers, results, toolQueue, subJobs } = this;
    await Promise.all([retention, timers, schedules, triggers, results, toolQueue, subJobs].map((each) => each.stop()));
  }
}
