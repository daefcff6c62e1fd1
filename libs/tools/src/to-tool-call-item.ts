import type { ToolCallItem } from '#jobs';

import { projectResult } from './project-result.js';
import type { ToolCallStatus } from './tool-call.js';

/** What the wire form of a call is made from. */
export interface ShownCall {
  readonly callId: string;
  readonly name: string;
  readonly arguments: string;
  readonly status: ToolCallStatus;
  /** Durable text of a completed call. */
  readonly result?: string | null;
  readonly error?: { readonly message: string } | null;
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

/** A call as every face shows it: wire status, result at the size of a screen. `output` repeats `result` on the wire only. */
export function toToolCallItem(call: ShownCall): ToolCallItem {
  const { callId: id, name, arguments: args, status, result, error } = call;
  return {
    id,
    name,
    status: wireStatus[status],
    args,
    ...(result === undefined || result === null ? {} : { result: projectResult(result, 'ui') }),
    ...(error === undefined || error === null ? {} : { error: error.message }),
  };
}
