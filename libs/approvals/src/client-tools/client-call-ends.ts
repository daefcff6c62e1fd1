import { Injectable } from '@nestjs/common';

import { Redactor } from '#platform';
import {
  AwaitingCallsRepository,
  CallEnds,
  type FilteredEnd,
  type LockedCall,
  notRegistered,
  ResultHooks,
} from '#tools';

import { type ClientAnswer, toSettlement } from './client-answer.js';
import type { LockedClientCall } from './client-calls.js';

/** A call, identified by its row. */
export interface CallOfJob extends Pick<LockedCall, 'id' | 'name'> {
  readonly workspaceId: string;
  readonly jobId: string;
}

/** Ends a client's call in the transaction that locks its job; the job continues once no call of it is open. */
@Injectable()
export class ClientCallEnds {
  constructor(
    private readonly calls: AwaitingCallsRepository,
    private readonly ends: CallEnds,
    private readonly hooks: ResultHooks,
    private readonly redactor: Redactor,
  ) {}

  /** Maximum duration of `filtered`, in ms. Null: the server has no hooks, and `unhooked` is sufficient. */
  get hooksMs(): number | null {
    return this.hooks.areSet ? this.hooks.longestMs : null;
  }

  /** The outcome that the client reports, without hooks. */
  unhooked(call: Pick<LockedCall, 'name'>, answer: ClientAnswer, workspaceId: string): FilteredEnd {
    return this.hooks.unhooked(this.read(call, answer, workspaceId));
  }

  /** The outcome that the client reports, after its hooks. They may take long: never wait for them while the job is locked. */
  filtered(ref: CallOfJob, answer: ClientAnswer): Promise<FilteredEnd> {
    return this.hooks.filter(ref, this.read(ref, answer, ref.workspaceId));
  }

  private read({ name }: Pick<LockedCall, 'name'>, answer: ClientAnswer, workspaceId: string) {
    const redactor = this.redactor.of(workspaceId);
    return toSettlement(name, answer, (text) => redactor.redact(text));
  }

  /** Ends the call with the outcome that the client reports. */
  async take(
    { job, call, interrupt }: Pick<LockedClientCall, 'job' | 'call' | 'interrupt'>,
    end: FilteredEnd,
    { submission, by }: { readonly submission: string; readonly by: string },
  ): Promise<void> {
    // The client sent a result without a validation, so it has run the call.
    if (call.status === 'awaiting_client') await this.calls.startAtClient(job, call);
    const settlement = { status: 'resolved', outcome: { outcome: end.status, submission }, by } as const;
    await this.ends.end(job, call, { ...end, request: { interrupt, settlement } });
  }

  /** Ends a call that must not run, because its approval no longer holds. The text for the model does not mention the reason. */
  async deny({ job, call, interrupt }: LockedClientCall): Promise<void> {
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
