import { Injectable } from '@nestjs/common';

import { DelayedJobs, InterruptTimers, Retention } from '#jobs';
import type { QueueWorker } from '#platform';
import { ScheduleTimers } from '#schedules';
import { SubJobs, ToolQueueSweeper, ToolResults } from '#tools';
import { TriggerWorker } from '#triggers';

/**
 * The work of a worker besides jobs: timers of interrupts, delayed jobs and schedules, triggers and webhooks, retention, sub-jobs, and
 * results of isolated calls.
 */
@Injectable()
export class Maintenance {
  private readonly workers: readonly QueueWorker[];

  constructor(
    retention: Retention,
    timers: InterruptTimers,
    delayed: DelayedJobs,
    schedules: ScheduleTimers,
    triggers: TriggerWorker,
    results: ToolResults,
    subJobs: SubJobs,
    toolQueue: ToolQueueSweeper,
  ) {
    this.workers = [retention, timers, delayed, schedules, triggers, subJobs, results, toolQueue];
  }

  async start(): Promise<void> {
    for (const worker of this.workers) await worker.start();
  }

  async stop(): Promise<void> {
    await Promise.all(this.workers.map((worker) => worker.stop()));
  }
}
