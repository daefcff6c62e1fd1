import { Injectable } from '@nestjs/common';

import { JobTelemetry } from '#jobs';
import { type Clock, systemClock, type Timer } from '#platform';

import { parseCron } from './cron.js';
import { type DueSchedule, DueSchedulesRepository, type ScheduleRef } from './due-schedules.repository.js';
import { planSlots, type SlotPlan } from './missed-slots.js';
import type { StopReason } from './schedule.js';
import { ScheduledStarts } from './scheduled-starts.js';
import { isTimeZone } from './time-zone.js';

const lookEveryMs = 1_000;
const dueAtOnce = 100;

/** How long one that failed gives way to the others, and how many are remembered for it. */
const putOffMs = 60_000;
const mostPutOff = 10_000;

/**
 * Lets workflows run when their schedules say so. When they come is in the table, by the database's clock, so it outlives every
 * process; each worker looks once a second. A slot becomes a row once, and its row a job once (`ScheduledStarts`).
 */
@Injectable()
export class ScheduleTimers {
  private readonly clock: Clock = systemClock;
  /** Schedules that could not be planned here, in the order of the instants (monotonic) from which they are tried again. */
  private readonly putOff = new Map<string, number>();
  private timer: Timer | undefined;
  private looking: Promise<void> | undefined;
  private stopped = true;

  constructor(
    private readonly due: DueSchedulesRepository,
    private readonly starts: ScheduledStarts,
    private readonly telemetry: JobTelemetry,
  ) {}

  start(): void {
    this.stopped = false;
    this.lookLater();
  }

  async stop(): Promise<void> {
    this.stopped = true;
    this.timer?.cancel();
    await this.looking;
  }

  /** Acts on everything that is due now, up to a bound. */
  async look(): Promise<void> {
    for (const ref of await this.due.findDue(dueAtOnce, this.stillPutOff())) await this.plan(ref);
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
      this.postpone(ref.scheduleId);
      this.telemetry.logger.warn({ err: error, ...ref }, 'a due schedule was not planned');
    }
  }

  private stillPutOff(): string[] {
    const now = this.clock.monotonic();
    for (const [id, until] of this.putOff) {
      if (until > now) break;
      this.putOff.delete(id);
    }
    return [...this.putOff.keys()];
  }

  private postpone(id: string): void {
    this.putOff.delete(id);
    const [oldest] = this.putOff.keys();
    if (oldest !== undefined && this.putOff.size >= mostPutOff) this.putOff.delete(oldest);
    this.putOff.set(id, this.clock.monotonic() + putOffMs);
  }

  private lookLater(): void {
    if (this.stopped) return;
    this.timer = this.clock.after(lookEveryMs * (0.75 + Math.random() / 2), () => {
      this.looking = this.look()
        .catch((error: unknown) => {
          this.telemetry.logger.warn({ err: error }, 'looking for due schedules failed');
        })
        .finally(() => {
          this.lookLater();
        });
    });
  }
}

function decide({ cron, timeZone, ...due }: DueSchedule): SlotPlan | StopReason {
  return isTimeZone(timeZone) ? planSlots({ cron: parseCron(cron), timeZone }, due) : 'time_zone_unknown';
}
