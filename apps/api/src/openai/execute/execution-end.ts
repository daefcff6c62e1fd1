import type { JobSnapshot } from '#jobs';

import type { OpenAiError } from '../../errors/openai-error.js';
import { approvalRequired, executionFailed } from './execute.errors.js';

/** How the one call of a job ended, or why it does not end here. */
export type ExecutionEnd =
  | { readonly type: 'completed'; readonly callId: string }
  | { readonly type: 'failed'; readonly error: OpenAiError }
  /** A person would have to let it run: the job is to be cancelled. */
  | { readonly type: 'approval'; readonly error: OpenAiError };

/** Null: the call is still at work. Pure. */
export function executionEnd(snapshot: JobSnapshot, toolName: string): ExecutionEnd | null {
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

/** The ledger stores it as a sentence for a model; the time is at the end of that sentence. */
function timeOf(message = ''): string {
  const time = /after \d+ms$/.exec(message)?.[0];
  return time === undefined ? message : `timed out ${time}`;
}

function reasonOf(toolName: string, message = 'the job was stopped'): string {
  const prefix = `Error executing tool "${toolName}": `;
  return message.startsWith(prefix) ? message.slice(prefix.length) : message;
}

/** What the tool gave: JSON, or text. */
export function toResult(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}
