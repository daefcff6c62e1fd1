import { Injectable } from '@nestjs/common';

import { InterruptSettler } from '#jobs';
import { Redactor } from '#platform';
import { AwaitingCallsRepository, callUpdated, notRegistered } from '#tools';

import { type ClientAnswer, toSettlement } from './client-answer.js';
import type { HeldClientCall } from './client-calls.js';

/** Ends a client's call in the transaction that locks its job; the job continues once no call of it is open. */
@Injectable()
export class ClientCallEnds {
  constructor(
    private readonly calls: AwaitingCallsRepository,
    private readonly settler: InterruptSettler,
    private readonly redactor: Redactor,
  ) {}

  /** Ends it with the outcome that the client reports. */
  async take(
    { job, call, interrupt }: Pick<HeldClientCall, 'job' | 'call' | 'interrupt'>,
    answer: ClientAnswer,
    { submission, by }: { readonly submission: string; readonly by: string },
  ): Promise<void> {
    // A result within an unvalidated claim: the client has run it all the same.
    if (call.status === 'awaiting_client') await this.calls.startAtClient(job, call);
    const redactor = this.redactor.of(job.workspaceId);
    const end = toSettlement(call.name, answer, (text) => redactor.redact(text));
    await this.calls.settle(job, call, end);
    const shown = end.status === 'completed' ? { result: end.result } : { error: end.failure };
    job.append(callUpdated({ ...call, ...shown, status: end.status }));
    const outcome = { outcome: end.status, submission };
    await this.settler.store({ job, interrupt }, { status: 'resolved', outcome, by });
    await this.settler.requeueIfSettled(job);
  }

  /** It must not be run any more: what had allowed it is gone. What the model reads does not tell. */
  async deny({ job, call, interrupt }: HeldClientCall): Promise<void> {
    const error = { phase: 'approval', message: notRegistered(call.name) } as const;
    await this.calls.settle(job, call, { status: 'denied', failure: error, approval: 'withdrawn' });
    job.append(callUpdated({ ...call, error, status: 'denied' }));
    await this.settler.store({ job, interrupt }, { status: 'cancelled', outcome: { outcome: 'denied' }, by: null });
    await this.settler.requeueIfSettled(job);
  }
}
