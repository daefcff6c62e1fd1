import { Inject, Injectable } from '@nestjs/common';

import { abilityOf, assertCan, type Principal } from '#auth';
import { JobUpdater } from '#jobs';
import { BUS, type Bus, isId } from '#platform';

import { QueueSettler } from './queue-settler.js';
import { QueueStateRepository } from './queue-state.repository.js';
import { QueuedCallsRepository } from './queued-calls.repository.js';
import { queuedCallNotFound } from './tool-queue.errors.js';

/** The call to cancel, and the principal that cancels it. */
export interface CancelCall {
  readonly workspaceId: string;
  readonly jobId: string;
  /** The id of the ledger row. */
  readonly toolCallId: string;
  /** The id of the principal. */
  readonly issuedBy: string;
}

/** `cancelled`: the call has ended. `stopping`: its process was notified and has ten seconds. `settled`: it had already ended. */
export type CancelState = 'cancelled' | 'stopping' | 'settled' | 'not_found';

/**
 * Cancels single calls of the tool queue while their job continues. The cancellation of a whole job works differently: it settles the
 * calls, and the processes that run them receive a hint about the job, or detect the change when they renew their claims.
 */
@Injectable()
export class ToolQueueCancels {
  constructor(
    private readonly updater: JobUpdater,
    private readonly states: QueueStateRepository,
    private readonly settler: QueueSettler,
    private readonly calls: QueuedCallsRepository,
    @Inject(BUS) private readonly bus: Bus,
  ) {}

  /** Cancels a call for a member who may cancel its job. Idempotent. Throws `not_found`, `forbidden`. */
  async cancelFor(principal: Principal, toolCallId: string): Promise<Exclude<CancelState, 'not_found'>> {
    const { workspaceId, id: issuedBy } = principal;
    const owner = isId(toolCallId) ? await this.calls.jobOf(workspaceId, toolCallId) : null;
    if (owner === null) throw queuedCallNotFound();
    const { jobId, createdBy } = owner;
    assertCan(abilityOf(principal), { action: 'cancel', subject: 'Job', row: { workspaceId, createdBy } });
    const state = await this.cancel({ workspaceId, jobId, toolCallId, issuedBy });
    if (state === 'not_found') throw queuedCallNotFound();
    return state;
  }

  /** Withdraws the right to submit a result before it notifies the process, so that a concurrent result loses. Idempotent. */
  async cancel({ workspaceId, jobId, toolCallId, issuedBy }: CancelCall): Promise<CancelState> {
    const done = await this.updater.update(workspaceId, jobId, async (locked): Promise<CancelState> => {
      const call = await this.settler.find(locked, toolCallId);
      if (call?.executor !== 'queue') return 'not_found';
      const state = await this.states.find(locked, toolCallId);
      if (state === null || !locked.isOpen) return 'settled';
      if (state.cancelRequested) return 'stopping';
      if (!state.isTaken) {
        await this.settler.stopped(locked, call, { started: false });
        return 'cancelled';
      }
      await this.states.withdraw(locked, toolCallId, issuedBy);
      return 'stopping';
    });
    if (done === 'stopping') this.bus.publish('tool-cancel', { workspaceId, jobId, toolCallId });
    return done ?? 'not_found';
  }
}
