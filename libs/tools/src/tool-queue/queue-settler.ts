import { Injectable } from '@nestjs/common';

import { type HeldJob, InterruptSettler, stoppedCall, unknownOutcome } from '#jobs';
import { crashpoint } from '#platform';

import { callUpdated } from '../interrupts/call-updated.js';
import { type HeldCall, HeldCallsRepository } from '../interrupts/held-calls.repository.js';
import type { Settlement } from '../tool-call.js';

/** Ends calls of the isolated queue, in the transaction that holds their job; the job goes on once nothing of it is open. */
@Injectable()
export class QueueSettler {
  constructor(
    private readonly calls: HeldCallsRepository,
    private readonly interrupts: InterruptSettler,
  ) {}

  find(held: HeldJob, id: string): Promise<HeldCall | null> {
    return this.calls.find(held, id);
  }

  /**
   * A call that ended as `interrupted` stays so until somebody decides: the job's next lease holder sees it and does what the
   * tool's policy says (verify, ask, report, fail), as with any call whose worker was lost.
   */
  async settle(held: HeldJob, call: HeldCall, end: Settlement): Promise<void> {
    await this.calls.settle(held, call, end);
    const shown = end.status === 'completed' ? { result: end.result, error: null } : { error: end.failure };
    held.append(callUpdated({ ...call, ...shown, status: end.status }));
    await this.interrupts.requeueIfSettled(held);
    crashpoint('in-tool-result');
  }

  /** For a call that was stopped: nobody can tell what a `once` call did unless it surely was not begun. */
  stopped(held: HeldJob, call: HeldCall, { started }: { readonly started: boolean }): Promise<void> {
    const isUnknown = started && call.effect === 'once';
    return this.settle(
      held,
      call,
      isUnknown ? { status: 'interrupted', failure: unknownOutcome } : { status: 'cancelled', failure: stoppedCall },
    );
  }
}
