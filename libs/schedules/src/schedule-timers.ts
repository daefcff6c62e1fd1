import { Injectable } from '@nestjs/common';

import { JobTelemetry } from '#jobs';
import { actOnEach, Queues, QueueWorker, runParts, sweepEach } from '#platform';

import { type DueSchedule, DueSchedulesRepository, type ScheduleRef } from './due-schedules.repository.js';
import { planSlots, type SlotPlan } from './missed-slots.js';
import type { StopReason } from './schedule.js';
import { ScheduledStarts } from './scheduled-starts.js';
import { isTimeZone } from './time-zone.js';

const atOnce = 1_000;

/** The slots until the sweep after the next one. */
const announcedMs = 120_000;

/**
 * Starts workflows at the slots of their schedules. The table contains the instants, and the database's clock decides. The transaction
 * that sets the next slot of a schedule sends a queue message for it; its handler plans the slot and sends a message for each job to
 * start. A slot becomes a row once, and its row a job once (`ScheduledStarts`). A sweep each minute finds slots whose message was lost.
 */
@Injectable()
export class ScheduleTimers extends QueueWorker {
  constructor(
    private readonly due: DueSchedulesRepository,
    private readonly starts: ScheduledStarts,
    private readonly queues: Queues,
    private readonly telemetry: JobTelemetry,
  ) {
    super();
  }

  protected async open() {
    const starts = await this.queues.handleOne('schedule.start', (slot) => this.starts.start(slot));
    const plans = await this.queues.handleOne('schedule.due', async (schedule) => {
      await this.plan(schedule);
      starts.wake();
    });
    return [starts, plans, await this.queues.handleEachMinute('maintenance.schedules', () => this.sweep())];
  }

  /** Plans and starts everything that is due, and sends the messages of the slots that come next. */
  async sweep(): Promise<void> {
    await runParts(
      () => this.planDue(),
      () => this.startDue(),
      () => this.due.announce(atOnce, announcedMs),
    );
  }

  private planDue(): Promise<void> {
    return sweepEach({
      find: (limit, without) => this.due.findDue(limit, without),
      idOf: ({ scheduleId }) => scheduleId,
      act: (ref) => this.plan(ref),
      onError: (err, ref) => {
        this.telemetry.logger.warn({ err, ...ref }, 'a due schedule was not planned');
      },
    });
  }

  private async startDue(): Promise<void> {
    await actOnEach(
      await this.due.findToStart(atOnce),
      (slot) => this.starts.start(slot),
      (err, slot) => {
        this.telemetry.logger.warn({ err, ...slot }, 'a scheduled job was not started');
      },
    );
  }

  private async plan(ref: ScheduleRef): Promise<void> {
    await this.due.plan(ref, decide);
  }
}

function decide({ cron, timeZone, ...due }: DueSchedule): SlotPlan | StopReason {
  return isTimeZone(timeZone) ? planSlots({ cron, timeZone }, due) : 'time_zone_unknown';
}
