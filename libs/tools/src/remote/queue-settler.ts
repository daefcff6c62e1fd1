import { Injectable } from '@nestjs/common';

import { type LockedJob, stoppedCall, unknownOutcome } from '#jobs';
import { crashpoint } from '#platform';

import type { FilteredEnd } from '../hooks/result-hooks.js';
import { AwaitingCallsRepository, type LockedCall } from './awaiting-calls.repository.js';
import { CallEnds } from './call-ends.js';
import { callUpdated } from './call-updated.js';
import { QueueStateRepository } from './queue-state.repository.js';

/** How a call of the tool queue ended. */
export type QueueEnd = FilteredEnd & CallFate;

/** The facts about the end of a call, besides its result. */
export interface CallFate {
  /** Whether its tool may have had an effect. */
  readonly started: boolean;
  /** Why the call did not run; replaces the earlier approval. */
  readonly approval?: 'withdrawn';
}

/** Ends calls of the tool queue in the transaction that locks their job; the job continues once no call of it is open. */
@Injectable()
export class QueueSettler {
  constructor(
    private readonly calls: AwaitingCallsRepository,
    private readonly states: QueueStateRepository,
    private readonly ends: CallEnds,
  ) {}

  find(locked: LockedJob, id: string): Promise<LockedCall | null> {
    return this.calls.find(locked, id);
  }

  /**
   * A call that ended as `interrupted` stays so until a decision. The job's next lease holder finds it and applies the tool's policy (verify,
   * ask, report, fail), as for any call whose worker was lost.
   */
  async settle(locked: LockedJob, call: LockedCall, { started, ...end }: QueueEnd): Promise<void> {
    if (!started) await this.states.neverStarted(locked, call.id);
    await this.ends.end(locked, call, end);
    crashpoint('in-tool-result');
  }

  /** Returns a call that did not start and now needs approval: its job handles it like a new call, and opens a request. */
  async giveBack(locked: LockedJob, call: LockedCall): Promise<void> {
    await this.states.giveBack(locked, call.id);
    locked.append(callUpdated({ ...call, status: 'pending' }));
    locked.requeue('a call needs approval');
  }

  /** Ends a cancelled call: the outcome of a `once` call is unknown unless it certainly did not start. */
  stopped(locked: LockedJob, call: LockedCall, { started }: { readonly started: boolean }): Promise<void> {
    const end: FilteredEnd =
      started && call.effect === 'once'
        ? { status: 'interrupted', failure: unknownOutcome }
        : { status: 'cancelled', failure: stoppedCall };
    return this.settle(locked, call, { ...end, started });
  }
}
