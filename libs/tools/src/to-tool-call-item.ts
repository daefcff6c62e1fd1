import type { ToolCallItem } from '#jobs';

import { projectResult } from './project-result.js';
import { runArguments } from './run-arguments.js';
import type { CallState, ToolCallStatus } from './tool-call.js';

/** The fields that a call is shown from. */
export interface ShownCall {
  readonly callId: string;
  readonly name: string;
  /** The arguments as the model proposed them. */
  readonly arguments: string;
  /** The approved arguments; null or absent: no approval was requested, or `state` has them. */
  readonly approvedArguments?: string | null;
  readonly state?: Pick<CallState, 'approvedArguments'> | null;
  readonly status: ToolCallStatus;
  /** The durable text of a completed call. */
  readonly result?: string | null;
  readonly error?: { readonly phase?: string; readonly message: string } | null;
}

const wireStatus: Readonly<Record<ToolCallStatus, ToolCallItem['status']>> = {
  pending: 'pending',
  awaiting_approval: 'pending',
  awaiting_client: 'pending',
  running: 'loading',
  completed: 'complete',
  error: 'error',
  timed_out: 'error',
  interrupted: 'error',
  skipped: 'skipped',
  denied: 'skipped',
  cancelled: 'skipped',
};

/**
 * Converts a call to the format that every transport returns: wire status, the arguments that it runs with, and the result at the display
 * size. `toWireCall` completes it.
 */
export function toToolCallItem(call: ShownCall): ToolCallItem {
  const { callId: id, name, status, result, error } = call;
  const approvedArguments = call.approvedArguments ?? call.state?.approvedArguments;
  const { arguments: args, proposedArguments } = runArguments({ arguments: call.arguments, approvedArguments });
  return {
    id,
    name,
    status: wireStatus[status],
    args,
    ...(proposedArguments === null ? {} : { proposedArgs: proposedArguments }),
    ...(result === undefined || result === null ? {} : { result: projectResult(result, 'ui') }),
    ...(error === undefined || error === null ? {} : { error: error.message }),
    ...(error != null && isRetryableFailure(error) && { retryable: true }),
  };
}

/** Adds the fields that only the wire format has: `output` repeats `result`, and an error always has `retryable`. */
export function toWireCall(item: ToolCallItem): ToolCallItem {
  const { result, error, retryable = false } = item;
  return { ...item, ...(result !== undefined && { output: result }), ...(error !== undefined && { retryable }) };
}

/** Whether the same call may succeed later without a change, which is true only after a timeout. */
export function isRetryableFailure({ phase }: { readonly phase?: string | null }): boolean {
  return phase === 'timeout';
}
