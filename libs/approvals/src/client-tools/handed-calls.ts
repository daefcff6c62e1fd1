import { Injectable } from '@nestjs/common';

import { type Interrupt, InterruptsRepository, type LockedJob } from '#jobs';
import { AwaitingCallsRepository, type FilteredEnd, type LockedCall } from '#tools';

import type { ClientAnswer } from './client-answer.js';
import { ClientCallEnds } from './client-call-ends.js';

/** A call that waits for its client, and its request. */
export interface HandedCall {
  readonly call: LockedCall;
  readonly interrupt: Interrupt;
}

/** How calls end after the hooks of their results, by the ids of their rows. */
export type FilteredEnds = ReadonlyMap<string, FilteredEnd>;

/** Results that were submitted together. `submission` identifies the batch; `by`: the principal who submitted it. */
export interface HandedResults {
  /** How each call ends, by the id of its row. */
  readonly ends: FilteredEnds;
  readonly submission: string;
  readonly by: string;
}

/** Calls that the requester of a job must run. Finds them, and ends all of them in one transaction that locks the job. */
@Injectable()
export class HandedCalls {
  constructor(
    private readonly interrupts: InterruptsRepository,
    private readonly calls: AwaitingCallsRepository,
    private readonly ends: ClientCallEnds,
  ) {}

  /** Returns the calls that the job waits for, in the order of the model. */
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

  /** Ends the calls with the outcomes that the client reports; the job continues. */
  async settle(job: LockedJob, handed: readonly HandedCall[], { ends, submission, by }: HandedResults): Promise<void> {
    for (const { call, interrupt } of handed) {
      const end = ends.get(call.id);
      if (end === undefined) throw new Error(`call ${call.callId} has no result`);
      await this.ends.take({ job, call, interrupt }, end, { submission, by });
    }
  }

  /** Returns the ends of the calls without hooks, by the call ids of the model; null: the server has hooks. */
  unhooked(job: LockedJob, handed: readonly HandedCall[], texts: ReadonlyMap<string, string>): FilteredEnds | null {
    if (this.ends.hooksMs !== null) return null;
    const { workspaceId } = job;
    return new Map(handed.map(({ call }) => [call.id, this.ends.unhooked(call, answerOf(call, texts), workspaceId)]));
  }

  /** Returns the ends of the calls after their hooks. Hooks may take long: never wait for them while the job is locked. */
  async filtered(
    { workspaceId, jobId }: Pick<LockedJob, 'workspaceId' | 'jobId'>,
    handed: readonly HandedCall[],
    texts: ReadonlyMap<string, string>,
  ): Promise<FilteredEnds> {
    const ends = handed.map(async ({ call }) => {
      const { id, name } = call;
      return [id, await this.ends.filtered({ workspaceId, jobId, id, name }, answerOf(call, texts))] as const;
    });
    return new Map(await Promise.all(ends));
  }
}

function answerOf({ callId }: LockedCall, texts: ReadonlyMap<string, string>): ClientAnswer {
  const text = texts.get(callId);
  if (text === undefined) throw new Error(`call ${callId} has no result`);
  return { kind: 'result', text };
}
