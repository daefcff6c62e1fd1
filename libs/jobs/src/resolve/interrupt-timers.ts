import { Injectable } from '@nestjs/common';

import { type Clock, systemClock } from '#platform';

import { DueLooks } from '../due-looks.js';
import type { InterruptKind } from '../interrupt.js';
import { InterruptsRepository } from '../interrupts/interrupts.repository.js';
import { JobTelemetry } from '../job.telemetry.js';
import { JobUpdater } from '../update/job-updater.js';
import { type DueInterrupt, DueInterruptsRepository } from './due-interrupts.repository.js';
import { type DueHandler, InterruptSettler } from './interrupt-settler.js';

const sweepEveryMs = 60_000;
const dueAtOnce = 100;

/**
 * The timers of open requests: expiries, lapsed claims, reminders. They are instants in the table, on the database's clock, so they survive
 * every process. Each worker looks once a second, and the lock of the job's row lets one of them act.
 */
@Injectable()
export class InterruptTimers {
  private readonly handlers = new Map<InterruptKind, DueHandler>();
  /** Postpones requests that failed here, so that others are not blocked. */
  private readonly looks: DueLooks;
  private readonly clock: Clock = systemClock;
  private sweepAt = 0;

  constructor(
    private readonly interrupts: InterruptsRepository,
    private readonly dues: DueInterruptsRepository,
    private readonly settler: InterruptSettler,
    private readonly updater: JobUpdater,
    private readonly telemetry: JobTelemetry,
  ) {
    this.looks = new DueLooks({ what: 'due requests', logger: telemetry.logger });
  }

  /** Libs register their kinds at boot. A request of an unknown kind stays open. */
  register(handler: DueHandler): void {
    this.handlers.set(handler.kind, handler);
  }

  start(): void {
    this.looks.start(() => this.pass());
  }

  stop(): Promise<void> {
    return this.looks.stop();
  }

  /** Handles everything that is due now, up to a limit. */
  async look(): Promise<void> {
    const query = { limit: dueAtOnce, kinds: [...this.handlers.keys()], without: this.looks.stillPutOff() };
    for (const due of await this.dues.find(query)) {
      try {
        await (due.due === 'reminder' ? this.remind(due) : this.end(due));
      } catch (error) {
        // An error of one request must not block the others, so this request is postponed.
        const { workspaceId, jobId, id } = due;
        this.looks.postpone(id);
        this.telemetry.logger.warn(
          { err: error, workspaceId, jobId, interruptId: id },
          'a due request was not settled',
        );
      }
    }
  }

  /** Cancels open requests of ended jobs. The code that ends a job closes its requests, so there should be none. */
  async sweep(): Promise<void> {
    for (const { workspaceId, jobId, id } of await this.dues.closeLeftOver(dueAtOnce))
      this.telemetry.logger.warn(
        { workspaceId, jobId, interruptId: id },
        'a request was open although its job had ended',
      );
  }

  private async pass(): Promise<void> {
    await this.look();
    const now = this.clock.monotonic();
    if (now < this.sweepAt) return;
    this.sweepAt = now + sweepEveryMs;
    await this.sweep();
  }

  private async end(due: DueInterrupt): Promise<void> {
    await this.settler.settle(due, async (held) => {
      const { status, expiresAt, kind } = held.interrupt;
      const handler = this.handlers.get(kind);
      if (status !== 'open' || held.interrupt.refused || !held.job.isOpen || handler === undefined) return null;
      if (due.due === 'claim') return (await handler.lapse?.(held)) ?? null;
      return expiresAt === null ? null : handler.expire(held);
    });
  }

  private async remind(due: DueInterrupt): Promise<void> {
    await this.updater.update(due.workspaceId, due.jobId, async (job) => {
      const interrupt = await this.interrupts.read(job.client, due.workspaceId, due.id);
      if (interrupt === null || !job.isOpen || !(await this.interrupts.remindLater(job.client, due))) return;
      const { id: interruptId, kind, title, expiresAt } = interrupt;
      job.append({ type: 'interrupt-reminder', body: { interruptId, kind, title, expiresAt } });
    });
  }
}
