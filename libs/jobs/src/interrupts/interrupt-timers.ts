import { Injectable } from '@nestjs/common';

import { type Clock, systemClock, type Timer } from '#platform';

import { JobAmender } from '../amend/job-amender.js';
import { JobTelemetry } from '../job.telemetry.js';
import type { InterruptKind } from './interrupt.js';
import { type DueHandler, InterruptSettler } from './interrupt-settler.js';
import { type DueInterrupt, InterruptsRepository } from './interrupts.repository.js';

const lookEveryMs = 1_000;
const dueAtOnce = 100;

/**
 * The timers of open requests: expiries, lapsed claims, reminders. They are instants in the table, by the database's clock, so
 * they outlive every process; each worker looks once a second, and the lock of the job's row lets one of them act.
 */
@Injectable()
export class InterruptTimers {
  private readonly handlers = new Map<InterruptKind, DueHandler>();
  private readonly clock: Clock = systemClock;
  private timer: Timer | undefined;
  private looking: Promise<void> | undefined;
  private stopped = true;

  constructor(
    private readonly interrupts: InterruptsRepository,
    private readonly settler: InterruptSettler,
    private readonly amender: JobAmender,
    private readonly telemetry: JobTelemetry,
  ) {}

  /** Kinds register while the process boots. A request of an unknown kind stays open. */
  register(handler: DueHandler): void {
    this.handlers.set(handler.kind, handler);
  }

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
    for (const due of await this.interrupts.findDue(dueAtOnce)) {
      try {
        await (due.due === 'reminder' ? this.remind(due) : this.end(due));
      } catch (error) {
        // One request's trouble is its own; it is found again at the next look.
        const { workspaceId, jobId, id } = due;
        this.telemetry.logger.warn(
          { err: error, workspaceId, jobId, interruptId: id },
          'a due request was not settled',
        );
      }
    }
  }

  private lookLater(): void {
    if (this.stopped) return;
    this.timer = this.clock.after(lookEveryMs * (0.75 + Math.random() / 2), () => {
      this.looking = this.look()
        .catch((error: unknown) => {
          this.telemetry.logger.warn({ err: error }, 'looking for due requests failed');
        })
        .finally(() => {
          this.lookLater();
        });
    });
  }

  private async end(due: DueInterrupt): Promise<void> {
    await this.settler.settle(due, async (held) => {
      const { status, expiresAt, kind } = held.interrupt;
      const handler = this.handlers.get(kind);
      if (status !== 'open' || !held.job.isOpen || handler === undefined) return null;
      if (due.due === 'claim') return (await handler.lapse?.(held)) ?? null;
      return expiresAt === null ? null : handler.expire(held);
    });
  }

  private async remind(due: DueInterrupt): Promise<void> {
    await this.amender.amend(due.workspaceId, due.jobId, async (job) => {
      const interrupt = await this.interrupts.read(job.client, due.workspaceId, due.id);
      if (interrupt === null || !job.isOpen || !(await this.interrupts.remindLater(job.client, due))) return;
      const { id: interruptId, kind, title, expiresAt } = interrupt;
      job.append({ type: 'interrupt-reminder', body: { interruptId, kind, title, expiresAt } });
    });
  }
}
