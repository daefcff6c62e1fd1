import { Injectable } from '@nestjs/common';

import { abilityOf, assertCan, type Principal, scopeOf } from '#auth';
import { type Interrupt, InterruptsRepository, jobNotFound, JobsRepository, JobUpdater, type LockedJob } from '#jobs';
import { isId } from '#platform';
import { AwaitingCallsRepository, type LockedCall } from '#tools';

import type { ClaimedPayload } from './claim-digest.js';
import { type ClaimState, ClientClaimsRepository } from './client-claims.repository.js';
import type { ClientToolRequest } from './client-tool-interrupt.js';
import { notPending, notTheirs } from './client-tools.errors.js';

/** A call that a client runs, with its related rows. The transaction holds the lock of the job. */
export interface LockedClientCall {
  readonly job: LockedJob;
  readonly call: LockedCall;
  readonly interrupt: Interrupt;
  readonly claim: ClaimState;
  /** The current data that the claim is bound to. */
  readonly payload: ClaimedPayload;
  /** How long the tool may run, in ms. */
  readonly toolTimeoutMs: number;
}

/** Finds the calls that a client may run: those of jobs that its user has started. */
@Injectable()
export class ClientCalls {
  constructor(
    private readonly jobs: JobsRepository,
    private readonly updater: JobUpdater,
    private readonly calls: AwaitingCallsRepository,
    private readonly interrupts: InterruptsRepository,
    private readonly claims: ClientClaimsRepository,
  ) {}

  /**
   * Runs `work` in the transaction that locks the job; an error of `work` rolls everything back. Any client of the user who started the job
   * may run its calls, with a user token or an API key. Throws `not_found` if the caller may not read the job or the call does not exist,
   * `forbidden` if the caller may read the job but did not start it, and `not_pending` if the server runs the call.
   */
  async withLocked<T>(
    principal: Principal,
    ref: { readonly jobId: string; readonly callId: string },
    work: (locked: LockedClientCall) => Promise<T>,
  ): Promise<T> {
    const { workspaceId, id } = await this.findJob(principal, ref.jobId);
    const done = await this.updater.update(workspaceId, id, async (job) => {
      const call = await this.calls.findByCallId(job, ref.callId);
      if (call === null) throw jobNotFound();
      return { result: await work(await this.look(job, call)) };
    });
    if (done === null) throw jobNotFound();
    return done.result;
  }

  private async findJob(principal: Principal, jobId: string) {
    const job = isId(jobId) ? await this.jobs.findInScope(scopeOf(principal), jobId) : null;
    if (job === null) throw jobNotFound();
    const { workspaceId, createdBy } = job;
    if (createdBy === null || createdBy !== principal.userId) throw notTheirs();
    assertCan(abilityOf(principal), { action: 'change', subject: 'Job', row: { workspaceId, createdBy } });
    return job;
  }

  private async look(job: LockedJob, call: LockedCall): Promise<LockedClientCall> {
    const claim = await this.claims.find(job, call.id);
    const interrupt = claim === null ? null : await this.interrupts.read(job.client, job.workspaceId, claim.id);
    if (claim === null || interrupt === null) throw notPending(call.status);
    // Only `clientToolInterrupt` writes requests of this kind.
    const request = interrupt.request as unknown as ClientToolRequest;
    const payload = {
      workspaceId: job.workspaceId,
      jobId: job.jobId,
      callId: call.callId,
      name: call.name,
      arguments: call.approvedArguments ?? call.arguments,
      definition: request.definition,
    };
    return { job, call, interrupt, claim, payload, toolTimeoutMs: request.toolTimeoutMs };
  }
}

/** Whether the call still waits for the result of a client. */
export function isPending({ job, interrupt }: LockedClientCall): boolean {
  return job.isOpen && interrupt.status === 'open';
}
