import { Injectable } from '@nestjs/common';

import { Redactor } from '#platform';
import { AwaitingCallsRepository, CallEnds, notRegistered } from '#tools';

import { type ClientAnswer, toSettlement } from './client-answer.js';
import type { HeldClientCall } from './client-calls.js';

/** Ends a client's call in the transaction that locks its job; the job continues once no call of it is open. */
@Injectable()
export class ClientCallEnds {
  constructor(
    private readonly calls: AwaitingCallsRepository,
    private readonly ends: CallEnds,
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
    const settlement = { status: 'resolved', outcome: { outcome: end.status, submission }, by } as const;
    await this.ends.end(job, call, { ...end, request: { interrupt, settlement } });
  }

  /** It must not be run any more: what had allowed it is gone. What the model reads does not tell. */
  async deny({ job, call, interrupt }: HeldClientCall): Promise<void> {
    const failure = { phase: 'approval', message: notRegistered(call.name) } as const;
    const settlement = { status: 'cancelled', outcome: { outcome: 'denied' }, by: null } as const;
    await this.ends.end(job, call, {
      status: 'denied',
      failure,
      approval: 'withdrawn',
      request: { interrupt, settlement },
    });
  }
}
