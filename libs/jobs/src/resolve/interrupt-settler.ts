import { Injectable } from '@nestjs/common';

import { crashpoint } from '#platform';

import { type HeldJob, JobAmender } from '../amend/job-amender.js';
import type { Interrupt, InterruptKind, Outcome } from '../interrupt.js';
import { alreadyAnswered, requestNotFound } from '../interrupts/interrupts.errors.js';
import { InterruptsRepository } from '../interrupts/interrupts.repository.js';

/** A request and its job, both held: what is seen here is what the settlement commits on. */
export interface HeldInterrupt {
  readonly job: HeldJob;
  readonly interrupt: Interrupt;
}

/** How a request ends. `by`: the principal who decided; null: nobody. */
export interface Settlement {
  readonly status: 'resolved' | 'expired' | 'cancelled';
  readonly outcome: Outcome;
  readonly by: string | null;
  /** The answer lets something run at once, whatever else is still open: an approved call. */
  readonly runnable?: boolean;
}

/** What a kind makes of a request that nobody answered in time, or whose client was lost. */
export interface DueHandler {
  readonly kind: InterruptKind;
  /** Writes what expiry means, with `held.job.client`, and says the outcome. Null: it was put off meanwhile. */
  expire(held: HeldInterrupt): Promise<Settlement | null>;
  /** A client began and was not heard of again. Only for kinds that can be claimed. Null: it is open again, for anybody. */
  lapse?(held: HeldInterrupt): Promise<Settlement | null>;
}

/**
 * Settles requests, each by its own id and once: the row of the job is locked, then the request is looked at, then
 * everything that follows from the answer is written, told and woken in that one transaction.
 */
@Injectable()
export class InterruptSettler {
  constructor(
    private readonly amender: JobAmender,
    private readonly interrupts: InterruptsRepository,
  ) {}

  /**
   * `decide` looks at the request under the lock and writes what the answer means; null leaves it open. It throws to refuse:
   * then nothing is stored. Gives the request as it then is. Throws `not_found` when there is none with this id in this job, and
   * `already_answered` where the job is cancelled for having asked, also before it is.
   */
  async settle(
    ref: { readonly workspaceId: string; readonly jobId: string; readonly id: string },
    decide: (held: HeldInterrupt) => Promise<Settlement | null>,
  ): Promise<Interrupt> {
    const settled = await this.amender.amend(ref.workspaceId, ref.jobId, async (job) => {
      const interrupt = await this.interrupts.read(job.client, ref.workspaceId, ref.id);
      if (interrupt === null || interrupt.jobId !== ref.jobId) throw requestNotFound();
      const settlement = await decide({ job, interrupt });
      if (settlement === null) return interrupt;
      if (interrupt.refused) throw alreadyAnswered({ status: 'cancelled', outcome: null });
      const ended = await this.store({ job, interrupt }, settlement);
      if (settlement.runnable === true) job.requeue('request answered');
      else await this.requeueIfSettled(job);
      return ended;
    });
    if (settled === null) throw requestNotFound();
    crashpoint('after-decision');
    return settled;
  }

  /**
   * Lets a job go on once nothing of it is open any more; call it after everything else of the change was written. Nodes of a
   * workflow wait each for itself: there, every answer may let one go on.
   */
  async requeueIfSettled(job: HeldJob): Promise<void> {
    if (job.row.kind === 'workflow') job.requeue('request answered');
    else if (!(await this.interrupts.isAnythingOpen(job.client, job))) job.requeue('nothing is open any more');
  }

  /** Ends a request within a transaction that already holds its job. */
  async store({ job, interrupt }: HeldInterrupt, settlement: Settlement): Promise<Interrupt> {
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
