import { Injectable } from '@nestjs/common';

import { type Interrupt, type InterruptSettlement, InterruptSettler, type LockedJob } from '#jobs';

import { hookApplied } from '../hooks/hook-applied.js';
import type { FilteredEnd } from '../hooks/result-hooks.js';
import { ToolOutputsRepository } from '../outputs/tool-outputs.repository.js';
import { AwaitingCallsRepository, type CallDecision, type LockedCall } from './awaiting-calls.repository.js';
import { callUpdated } from './call-updated.js';

/** The request about a call, and its settlement. */
export interface EndedRequest {
  readonly interrupt: Interrupt;
  readonly settlement: InterruptSettlement;
}

/**
 * Ends calls that do not end in the commit of a worker: isolated calls, calls of clients, sub-jobs, and calls that a person decides. A call
 * is committed, and is offered to a tool process, a client or a sub-job. Its result, its expiry or a decision ends it here, in the transaction
 * that locks its job, and the job is re-queued once nothing is open. A result has passed the `afterToolCall` hooks before that transaction.
 */
@Injectable()
export class CallEnds {
  constructor(
    private readonly calls: AwaitingCallsRepository,
    private readonly outputs: ToolOutputsRepository,
    private readonly interrupts: InterruptSettler,
  ) {}

  /** Writes the end of a call: its row, its whole result if the row has a preview, the changes by hooks, and the event for viewers. */
  async record(job: LockedJob, call: LockedCall, end: FilteredEnd & CallDecision): Promise<void> {
    await this.calls.settle(job, call, end);
    const isCompleted = end.status === 'completed';
    if (isCompleted && end.whole !== undefined) {
      const { workspaceId, jobId } = job;
      await this.outputs.keep(job.client, { workspaceId, jobId, id: call.id }, end.whole);
    }
    const shown = isCompleted ? { result: end.result, error: null } : { error: end.failure };
    const { round, callId } = call;
    for (const event of hookApplied(end.applied ?? [], { round, callId })) job.append(event);
    job.append(callUpdated({ ...call, ...shown, status: end.status }));
  }

  /** Records the end of a call, and re-queues the job once no call and no request of it is open. */
  async end(
    job: LockedJob,
    call: LockedCall,
    { request, ...end }: FilteredEnd & CallDecision & { readonly request?: EndedRequest },
  ): Promise<void> {
    await this.record(job, call, end);
    if (request !== undefined) await this.interrupts.store({ job, interrupt: request.interrupt }, request.settlement);
    await this.interrupts.requeueIfSettled(job);
  }
}
