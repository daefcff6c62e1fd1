import { Injectable } from '@nestjs/common';

import { InterruptTimers, Retention } from '#jobs';
import { ScheduleTimers } from '#workflows';

import { ToolUpkeep } from './tool-upkeep.js';

/** What goes on beside the jobs of a worker: retention, timers of requests and schedules, and what isolated tools send back. */
@Injectable()
export class JobUpkeep {
  constructor(
    private readonly retention: Retention,
    private readonly timers: InterruptTimers,
    private readonly schedules: ScheduleTimers,
    private readonly tools: ToolUpkeep,
  ) {}

  start(): void {
    this.retention.start();
    this.timers.start();
    this.schedules.start();
    this.tools.start();
  }

  async stop(): Promise<void> {
    await Promise.all([this.retention.stop(), this.timers.stop(), this.schedules.stop(), this.tools.stop()]);
  }
}
