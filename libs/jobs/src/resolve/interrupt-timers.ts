import { Injectable } from '@nestjs/common';

import { crashpoint, Queues, QueueWorker, runParts, sweepEach } from '#platform';

import type { InterruptKind } from '../interrupt.js';
import { InterruptsRepository } from '../interrupts/interrupts.repository.js';
import { interruptDue } from '../interrupts/new-interrupt.repository.js';
import { JobTelemetry } from '../job.telemetry.js';
import { JobUpdater, type LockedJob } from '../update/job-updater.js';
import { DueInterruptsRepository, type InterruptRef } from './due-interrupts.repository.js';
import { type DueHandler, InterruptSettler } from './interrupt-settler.js';
import { RefusedWaits } from './refused-waits.js';

const closedAtOnce = 100;

/**
 * The timers of open requests: expiries, lapsed claims, reminders, and refused waits. The table contains the instants, and the database's
 * clock decides. The transaction that sets an instant sends a queue message for it. The handler does what is due, once under the lock of
 * the job's row, and sends the message of the next instant. A sweep each minute finds requests whose message was lost.
 */
@Injectable()
export class InterruptTimers extends QueueWorker {
  private readonly kinds = new Map<InterruptKind, DueHandler>();

  constructor(
    private readonly interrupts: InterruptsRepository,
    private readonly dues: DueInterruptsRepository,
    private readonly refused: RefusedWaits,
    private readonly settler: InterruptSettler,
    private readonly updater: JobUpdater,
    private readonly queues: Queues,
    private readonly telemetry: JobTelemetry,
  ) {
    super();
  }

  /** Libs register their kinds at boot. A request of an unknown kind stays open. */
  register(handler: DueHandler): void {
    this.kinds.set(handler.kind, handler);
  }

  protected async open() {
    return [
      await this.queues.handleOne('interrupt.due', ({ interruptId: id, ...job }) => this.act({ ...job, id })),
      await this.queues.handleEachMinute('maintenance.interrupts', () => this.sweep()),
    ];
  }

  /** Settles all due requests, and cancels open requests of ended jobs. The end of a job closes its requests, so there should be none. */
  async sweep(): Promise<void> {
    await runParts(
      () => this.settleDue(),
      () => this.refused.sweep(),
      () => this.closeLeftOver(),
    );
  }

  private settleDue(): Promise<void> {
    const kinds = [...this.kinds.keys()];
    return sweepEach({
      find: (limit, without) => this.dues.find({ limit, kinds, without }),
      idOf: ({ id }) => id,
      act: (due) => this.act(due),
      onError: (err, due) => {
        this.telemetry.logger.warn({ err, ...due }, 'a due request was not settled');
      },
    });
  }

  private async closeLeftOver(): Promise<void> {
    for (const left of await this.dues.closeLeftOver(closedAtOnce))
      this.telemetry.logger.warn({ ...left }, 'a request was open although its job had ended');
  }

  /** Handles what is due for the request, if anything, and sends the message of its next instant. */
  private async act(ref: InterruptRef): Promise<void> {
    if (await this.refused.refuseRoot(ref)) return;
    await this.updater.update(ref.workspaceId, ref.jobId, async (job) => {
      const timer = job.isOpen ? await this.dues.read(job.client, ref) : null;
      if (timer === null) return;
      const handler = this.kinds.get(timer.kind);
      if (timer.due === 'reminder') await this.remind(job, ref);
      else if (timer.due !== null) {
        if (handler === undefined) return; // the sweep of a process that knows the kind finds it
        await this.settler.settleLocked(job, ref, async (locked) =>
          timer.due === 'claim' ? ((await handler.lapse?.(locked)) ?? null) : handler.expire(locked),
        );
      }
      const at = await this.dues.nextInstant(job.client, ref);
      if (at !== null) job.send(interruptDue(ref, at));
    });
    crashpoint('after-decision');
  }

  private async remind(job: LockedJob, ref: InterruptRef): Promise<void> {
    const interrupt = await this.interrupts.read(job.client, ref.workspaceId, ref.id);
    if (interrupt === null || !(await this.interrupts.remindLater(job.client, ref))) return;
    const { id: interruptId, kind, title, expiresAt } = interrupt;
    job.append({ type: 'interrupt-reminder', body: { interruptId, kind, title, expiresAt } });
  }
}
