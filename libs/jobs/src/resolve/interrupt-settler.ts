import { Injectable } from '@nestjs/common';

import { crashpoint } from '#platform';

import type { Interrupt, InterruptKind, Outcome } from '../interrupt.js';
import { alreadyAnswered, requestNotFound } from '../interrupts/interrupts.errors.js';
import { InterruptsRepository } from '../interrupts/interrupts.repository.js';
import { JobUpdater, type LockedJob } from '../update/job-updater.js';

/** A request whose job's row is locked: both stay as read until the settlement commits. */
export interface LockedInterrupt {
  readonly job: LockedJob;
  readonly interrupt: Interrupt;
}

/** How a request ends. `by`: the principal who decided; null if it ended without a decision. */
export interface Settlement {
  readonly status: 'resolved' | 'expired' | 'cancelled';
  readonly outcome: Outcome;
  readonly by: string | null;
  /** The decision makes some work runnable at once (an approved call), even if other requests are open. */
  readonly runnable?: boolean;
}

/** How requests of one kind end when they expire or their client stops renewing its claim. */
export interface DueHandler {
  readonly kind: InterruptKind;
  /**
   * Writes the effects of the expiry with `locked.job.client` and returns the settlement. Returns null if the expiry was postponed meanwhile.
   */
  expire(locked: LockedInterrupt): Promise<Settlement | null>;
  /**
   * The client that claimed the request stopped renewing its claim. Only for kinds that can be claimed. Returns null if the request is open
   * to all clients again.
   */
  lapse?(locked: LockedInterrupt): Promise<Settlement | null>;
}

/**
 * Settles requests, each by its id and once: locks the job's row, reads the request, then writes the effects of the decision, its events
 * and the queue message in the same transaction.
 */
@Injectable()
export class InterruptSettler {
  constructor(
    private readonly updater: JobUpdater,
    private readonly interrupts: InterruptsRepository,
  ) {}

  /**
   * `decide` reads the request under the lock and writes the effects of the decision; if it returns null, the request stays open. If it throws,
   * nothing is stored. Returns the request in its new state. Throws `not_found` if the job has no request with this id, and `already_answered`
   * if the job or its root job was started with `humanWait: 'reject'`: the job will be cancelled because it opened this request.
   */
  async settle(
    ref: { readonly workspaceId: string; readonly jobId: string; readonly id: string },
    decide: (locked: LockedInterrupt) => Promise<Settlement | null>,
  ): Promise<Interrupt> {
    const settled = await this.updater.update(ref.workspaceId, ref.jobId, (job) => this.settleLocked(job, ref, decide));
    if (settled === null) throw requestNotFound();
    crashpoint('after-decision');
    return settled;
  }

  /** Like `settle`, within a transaction that has already locked the job. */
  async settleLocked(
    job: LockedJob,
    ref: { readonly workspaceId: string; readonly id: string },
    decide: (locked: LockedInterrupt) => Promise<Settlement | null>,
  ): Promise<Interrupt> {
    const interrupt = await this.interrupts.read(job.client, ref.workspaceId, ref.id);
    if (interrupt === null || interrupt.jobId !== job.jobId) throw requestNotFound();
    const settlement = await decide({ job, interrupt });
    if (settlement === null) return interrupt;
    if (interrupt.refused) throw alreadyAnswered({ status: 'cancelled', outcome: null });
    const ended = await this.store({ job, interrupt }, settlement);
    if (settlement.runnable === true) job.requeue('request answered');
    else await this.requeueIfSettled(job);
    return ended;
  }

  /**
   * Re-queues a job after its last open request or call was settled. Call it after the other writes of the change. The nodes of a workflow
   * wait independently, so each settled request re-queues a workflow.
   */
  async requeueIfSettled(job: LockedJob): Promise<void> {
    if (job.row.kind === 'workflow') job.requeue('request answered');
    else if (!(await this.interrupts.isAnythingOpen(job.client, job))) job.requeue('nothing is open any more');
  }

  /** Ends a request in a transaction that has already locked its job. */
  async store({ job, interrupt }: LockedInterrupt, settlement: Settlement): Promise<Interrupt> {
    const { status, outcome, by } = settlement;
    crashpoint('in-decision');
    const decidedAt = await this.interrupts.settle(job.client, interrupt, settlement);
    if (decidedAt === null) throw new Error(`interrupt ${interrupt.id} was settled under the lock of its job`);
    job.append({
      type: 'interrupt-resolved',
      body: {
        interruptId: interrupt.id,
        outcome: outcome.outcome,
        ...(by === null ? {} : { decidedBy: by }),
        decidedAt: Math.round(decidedAt),
      },
    });
    return { ...interrupt, status, outcome, decidedBy: by, decidedAt: Math.round(decidedAt) };
  }
}
