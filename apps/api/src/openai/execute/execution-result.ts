import type { ServerResponse } from 'node:http';

import { Injectable } from '@nestjs/common';

import { type MemberPrincipal, scopeOf } from '#auth';
import { EventFeed, type FeedItem, jobNotFound, type JobSnapshot, JobStopper, SnapshotRepository } from '#jobs';
import { parseJson } from '#platform';
import { ToolOutputsRepository } from '#tools';

import type { OpenAiError } from '../../errors/openai-error.js';
import type { ExecutedCall } from '../openai-schemas.js';
import { approvalRequired, executionFailed, stillRunning } from './execute.errors.js';
import { type AwaitedCall, ResponseDeadlines } from './response-deadlines.js';

/** The client that waits for the result. */
interface Listening {
  readonly response: ServerResponse;
  /** Aborts with the error to send instead of a result. */
  readonly signal: AbortSignal;
  /** Whether to cancel the job when the client disconnects. */
  readonly cancels: boolean;
}

/** Longer than any stored result. */
const whole = { offset: 0, length: Number.MAX_SAFE_INTEGER };

/** Waits for the results of single calls by following the logs of their jobs. */
@Injectable()
export class ExecutionResult {
  constructor(
    private readonly feed: EventFeed,
    private readonly snapshots: SnapshotRepository,
    private readonly stopper: JobStopper,
    private readonly outputs: ToolOutputsRepository,
    private readonly deadlines: ResponseDeadlines,
  ) {}

  /**
   * Defers the response until the call ends. Throws `OpenAiError` by the table of this route, `still_running` when the maximum time has
   * passed or a child job opens a request, and the reason of `signal`. A client that disconnects
   * leaves the job running, or cancels it; at shutdown the job keeps running.
   */
  async waitForResult(
    principal: MemberPrincipal,
    asked: AwaitedCall,
    { response, signal, cancels }: Listening,
  ): Promise<ExecutedCall> {
    const left = new AbortController();
    const deadline = this.deadlines.begin(asked, response);
    const until = AbortSignal.any([left.signal, deadline.signal, signal]);
    const onClose = (): void => {
      if (until.aborted) return;
      left.abort(stillRunning());
      if (!cancels) return;
      // The client has disconnected, so a failed cancellation cannot be reported; the job then keeps running.
      this.stop(principal, asked.jobId, 'client gone').catch(() => undefined);
    };
    response.once('close', onClose);
    if (response.destroyed) onClose();
    try {
      return await this.find(principal, asked, until);
    } finally {
      response.off('close', onClose);
      deadline.end();
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

/** Whether an item may end the wait, so that the job must be read: the job has ended, opened a request, or completed a call. */
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

/** How the only call of a job ended, or why the wait ends before the call. */
type ExecutionEnd =
  | { readonly type: 'completed'; readonly callId: string }
  | { readonly type: 'failed'; readonly error: OpenAiError }
  /** A person must approve the call; the server cancels the job. */
  | { readonly type: 'approval'; readonly error: OpenAiError };

/** Null: the call is still running. Pure. */
function executionEnd(snapshot: JobSnapshot, toolName: string): ExecutionEnd | null {
  const { calls, interrupts, ended, error } = snapshot;
  const [call] = calls;
  if (call?.status === 'completed') return { type: 'completed', callId: call.callId };
  if (interrupts.some(({ kind }) => kind === 'unknown_outcome')) return failed('outcome unknown');
  if (!ended)
    return interrupts.some(({ kind }) => kind === 'tool_approval' || kind === 'human_input')
      ? { type: 'approval', error: approvalRequired(toolName) }
      : null;
  switch (call?.status) {
    case undefined:
      return failed(error?.message ?? 'the job was stopped');
    case 'interrupted':
      return failed('outcome unknown');
    case 'timed_out':
      return failed(timeOf(call.error?.message));
    default:
      return failed(reasonOf(toolName, call?.error?.message));
  }
}

function failed(reason: string): ExecutionEnd {
  return { type: 'failed', error: executionFailed(reason) };
}

/** Extracts the timeout (`after 500ms`) from the stored error message. */
function timeOf(message = ''): string {
  const time = /after \d+ms$/.exec(message)?.[0];
  return time === undefined ? message : `timed out ${time}`;
}

function reasonOf(toolName: string, message = 'the job was stopped'): string {
  const prefix = `Error executing tool "${toolName}": `;
  return message.startsWith(prefix) ? message.slice(prefix.length) : message;
}

/** The result of the tool: JSON, or text. */
function toResult(text: string): unknown {
  try {
    return parseJson(text);
  } catch {
    return text;
  }
}
