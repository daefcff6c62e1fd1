import { Injectable } from '@nestjs/common';

import { type Interrupt, InterruptsRepository, type LockedJob } from '#jobs';
import { AwaitingCallsRepository, type LockedCall } from '#tools';

import { ClientCallEnds } from './client-call-ends.js';

/** A call that waits for its client, and the request about it. */
export interface HandedCall {
  readonly call: LockedCall;
  readonly interrupt: Interrupt;
}

/** Results that were submitted together. `submission` identifies the batch; `by`: the principal who submitted it. */
export interface HandedResults {
  /** Text by the id that the model knows the call by; one for each call. */
  readonly texts: ReadonlyMap<string, string>;
  readonly submission: string;
  readonly by: string;
}

/** Calls that the requester of a job has to run: found, and ended all at once, in the transaction that locks the job. */
@Injectable()
export class HandedCalls {
  constructor(
    private readonly interrupts: InterruptsRepository,
    private readonly calls: AwaitingCallsRepository,
    private readonly ends: ClientCallEnds,
  ) {}

  /** What the job waits for of its client, in the order of the model. */
  async waiting(job: LockedJob): Promise<readonly HandedCall[]> {
    const open = await this.interrupts.openOfJob(job.client, job);
    const handed: HandedCall[] = [];
    for (const interrupt of open) {
      if (interrupt.kind !== 'client_tool' || interrupt.toolCallId === null) continue;
      const call = await this.calls.find(job, interrupt.toolCallId);
      if (call !== null) handed.push({ call, interrupt });
    }
    return handed.toSorted((a, b) => a.call.round - b.call.round || a.call.ordinal - b.call.ordinal);
  }

  /** Ends them with the outcomes that the client reports; the job continues. */
  async settle(job: LockedJob, handed: readonly HandedCall[], { texts, submission, by }: HandedResults): Promise<void> {
    for (const { call, interrupt } of handed) {
      const text = texts.get(call.callId);
      if (text === undefined) throw new Error(`call ${call.callId} has no result`);
      await this.ends.take({ job, call, interrupt }, { kind: 'result', text }, { submission, by });
    }
  }
}
