import { Injectable } from '@nestjs/common';

import {
  type InterruptSettlement,
  InterruptSettler,
  InterruptsRepository,
  type LockedInterrupt,
  type LockedJob,
} from '#jobs';

import type { LockedCall } from './awaiting-calls.repository.js';
import { CallEnds } from './call-ends.js';
import { type QueueEnd, QueueSettler } from './queue-settler.js';
import { QueueStateRepository } from './queue-state.repository.js';

type Reported = Extract<QueueEnd, { status: 'completed' }>;

/**
 * Handles a response whose call is settled or claimed by another process. Such a response changes nothing, unless it reports the outcome of a
 * call whose outcome is unknown.
 */
@Injectable()
export class LateResponses {
  constructor(
    private readonly interrupts: InterruptsRepository,
    private readonly requests: InterruptSettler,
    private readonly ends: CallEnds,
    private readonly states: QueueStateRepository,
    private readonly settler: QueueSettler,
  ) {}

  /** `endOf` returns how the response ends the call. It runs only if the call can still end this way. */
  async take(locked: LockedJob, call: LockedCall, endOf: () => QueueEnd | null): Promise<void> {
    if (call.status !== 'interrupted' || !locked.isOpen) return;
    const interrupt = await this.interrupts.openOfCall(locked.client, locked.workspaceId, call.id);
    const isAsked = interrupt?.kind === 'unknown_outcome';
    // No person was asked yet, and no worker is about to ask one.
    const isUndecided = locked.row.status !== 'running' && !(await this.states.wasAsked(locked, call.id));
    if (!isAsked && !isUndecided) return;
    const settlement = endOf();
    if (settlement?.status !== 'completed') return;
    if (isAsked) {
      const about = { job: locked, interrupt };
      await this.requests.store(about, await this.happened(about, call, settlement));
      await this.requests.requeueIfSettled(locked);
    } else await this.settler.settle(locked, call, settlement);
  }

  /** Settles the open request, like a person who knows the outcome. */
  private async happened(about: LockedInterrupt, call: LockedCall, end: Reported): Promise<InterruptSettlement> {
    const { job, interrupt } = about;
    await this.ends.record(job, call, { ...end, by: null, decisionId: interrupt.id });
    const answer = { decision: 'happened', result: end.result, reason: null };
    return { status: 'resolved', outcome: { outcome: 'happened', answer }, by: null };
  }
}
