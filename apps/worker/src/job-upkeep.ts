import { Injectable } from '@nestjs/common';

import { InterruptTimers, RefusedWaits, Retention } from '#jobs';
import { ScheduleTimers } from '#workflows';

import { ToolUpkeep } from './tool-upkeep.js';

/** Runs besides the jobs of a worker: retention, timers of requests and schedules, and the results of isolated tools. */
@Injectable()
export class JobUpkeep {
  constructor(
    private readonly retention: Retention,
    private readonly timers: InterruptTimers,
    private readonly refused: RefusedWaits,
    private readonly schedules: ScheduleTimers,
    private readonly tools: ToolUpkeep,
  ) {}

  async start(): Promise<void> {
    await this.retention.start();
    this.timers.start();
    this.refused.start();
    this.schedules.start();
    this.tools.start();
  }

  async stop(): Promise<void> {
    const { retention, timers, refused, schedules, tools } = this;
    await Promise.all([retention, timers, refused, schedules, tools].map((each) => each.stop()));
  }
}
