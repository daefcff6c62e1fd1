import { Injectable } from '@nestjs/common';

import { DueLooks, JobTelemetry } from '#jobs';

import { type DueSchedule, DueSchedulesRepository, type ScheduleRef } from './due-schedules.repository.js';
import { planSlots, type SlotPlan } from './missed-slots.js';
import type { StopReason } from './schedule.js';
import { ScheduledStarts } from './scheduled-starts.js';
import { isTimeZone } from './time-zone.js';

const dueAtOnce = 100;

/**
 * Lets workflows run when their schedules say so. When they come is in the table, by the database's clock, so it outlives every
 * process; each worker looks once a second. A slot becomes a row once, and its row a job once (`ScheduledStarts`).
 */
@Injectable()
export class ScheduleTimers {
  /** Schedules that could not be planned here give way to the others. */
  private readonly looks: DueLooks;

  constructor(
    private readonly due: DueSchedulesRepository,
    private readonly starts: ScheduledStarts,
    private readonly telemetry: JobTelemetry,
  ) {
    this.looks = new DueLooks({ what: 'due schedules', logger: telemetry.logger });
  }

  start(): void {
    this.looks.start(() => this.look());
  }

  stop(): Promise<void> {
    return this.looks.stop();
  }

  /** Acts on everything that is due now, up to a bound. */
  async look(): Promise<void> {
    for (const ref of await this.due.findDue(dueAtOnce, this.looks.stillPutOff())) await this.plan(ref);
    for (const slot of await this.due.findToStart(dueAtOnce)) {
      try {
        await this.starts.start(slot);
      } catch (error) {
        // One start's trouble is its own: it is tried again later, so that it does not keep others from their turn.
        this.telemetry.logger.warn({ err: error, ...slot }, 'a scheduled job was not started');
      }
    }
  }

  private async plan(ref: ScheduleRef): Promise<void> {
    try {
      await this.due.plan(ref, decide);
    } catch (error) {
      // One schedule's trouble is its own, as one start's is.
      this.looks.postpone(ref.scheduleId);
      this.telemetry.logger.warn({ err: error, ...ref }, 'a due schedule was not planned');
    }
  }
}

function decide({ cron, timeZone, ...due }: DueSchedule): SlotPlan | StopReason {
  return isTimeZone(timeZone) ? planSlots({ cron, timeZone }, due) : 'time_zone_unknown';
}
