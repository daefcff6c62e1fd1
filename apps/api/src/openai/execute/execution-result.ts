import type { ServerResponse } from 'node:http';

import { Injectable } from '@nestjs/common';

import { type MemberPrincipal, scopeOf } from '#auth';
import { EventFeed, type FeedItem, jobNotFound, JobStopper, SnapshotRepository } from '#jobs';
import { ToolOutputsRepository } from '#tools';

import { stillRunning } from './execute.errors.js';
import { type ExecutionEnd, executionEnd, toResult } from './execution-end.js';
import { type AwaitedCall, ReplyHolds } from './reply-holds.js';

/** What is answered of a call that has ended well. */
export interface ExecutedCall {
  readonly tool_call_id: string;
  readonly result: unknown;
}

/** Who waits for it. */
interface Listening {
  readonly response: ServerResponse;
  /** Aborts with the error to send instead of a result. */
  readonly signal: AbortSignal;
  /** Cancel the job when the client goes. */
  readonly cancels: boolean;
}

/** Longer than any result that is kept. */
const whole = { offset: 0, length: Number.MAX_SAFE_INTEGER };

/** Waits for single calls, by the log of their jobs. */
@Injectable()
export class ExecutionResult {
  constructor(
    private readonly feed: EventFeed,
    private readonly snapshots: SnapshotRepository,
    private readonly stopper: JobStopper,
    private readonly outputs: ToolOutputsRepository,
    private readonly holds: ReplyHolds,
  ) {}

  /**
   * Defers the response until the call ends. Throws `OpenAiError` by the table of this route, `still_running` when the maximum time has
   * passed or a child job opens a request, and the reason of `signal`. A client that disconnects
   * leaves the job running, or cancels it; at shutdown the job keeps running.
   */
  async hold(
    principal: MemberPrincipal,
    asked: AwaitedCall,
    { response, signal, cancels }: Listening,
  ): Promise<ExecutedCall> {
    const left = new AbortController();
    const hold = this.holds.begin(asked, response);
    const until = AbortSignal.any([left.signal, hold.signal, signal]);
    const onClose = (): void => {
      if (until.aborted) return;
      left.abort(stillRunning());
      if (!cancels) return;
      // The cancellation has no caller left to report a failure to; the job then keeps running.
      this.stop(principal, asked.jobId, 'client gone').catch(() => undefined);
    };
    response.once('close', onClose);
    if (response.destroyed) onClose();
    try {
      return await this.find(principal, asked, until);
    } finally {
      response.off('close', onClose);
      hold.end();
    }
  }

  private async find(principal: MemberPrincipal, asked: AwaitedCall, signal: AbortSignal): Promise<ExecutedCall> {
    const { workspaceId, jobId, toolName } = asked;
    for await (const item of this.feed.follow({ workspaceId, jobId, after: 0, signal })) {
      if (!mayBeOver(item)) continue;
      const snapshot = await this.snapshots.read(workspaceId, jobId);
      if (snapshot === null) throw jobNotFound();
      const end = executionEnd(snapshot, toolName);
      if (end !== null) return this.answer(principal, jobId, end);
    }
    signal.throwIfAborted();
    throw stillRunning();
  }

  private async answer(principal: MemberPrincipal, jobId: string, end: ExecutionEnd): Promise<ExecutedCall> {
    if (end.type === 'approval') await this.stop(principal, jobId, 'needs approval');
    if (end.type !== 'completed') throw end.error;
    const { workspaceId } = principal;
    const output = await this.outputs.read({ workspaceId, jobId, threadId: null }, end.callId, whole);
    return { tool_call_id: end.callId, result: toResult(output?.text ?? '') };
  }

  private async stop(principal: MemberPrincipal, jobId: string, reason: string): Promise<void> {
    await this.stopper.stop(scopeOf(principal), jobId, reason);
  }
}

/** Whether it is worth a look at the job: its end, a wait, or more than one can tell from here. */
function mayBeOver(item: FeedItem): boolean {
  if (item.type === 'snapshot') return true;
  return item.events.some(
    (event) =>
      event.type === 'job-finished' ||
      event.type === 'interrupt-opened' ||
      (event.type === 'tool-call-updated' && event.body.internalStatus === 'completed') ||
      (event.type === 'tool-call' && event.body.internalStatus === 'completed'),
  );
}
