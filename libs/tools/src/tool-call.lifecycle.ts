import type { ToolCallStatus } from './tool-call.js';

/**
 * The life of a tool call:
 *
 *   pending ──▶ awaiting_approval ──▶ awaiting_client ──▶ running ──▶ completed | error | timed_out | cancelled
 *      │                │                    │               │
 *      └────────────────┴────────────────────┴──▶ skipped | denied | cancelled, without having run
 *                                                            └──▶ interrupted ──▶ pending | completed | error, by a decision
 *
 * A call that is safe to repeat can return to an earlier status: to `awaiting_approval` if the policy has become stricter, to
 * `awaiting_client` if its client stopped reporting. A call in the tool queue that has not started and now needs approval
 * returns to `pending`, and its job opens the request. A settled call never changes, except that a recorded decision changes
 * `interrupted`. A trigger of the table `tool_call` enforces the same.
 */
export const toolCallMoves: Readonly<Record<ToolCallStatus, readonly ToolCallStatus[]>> = {
  pending: ['awaiting_approval', 'awaiting_client', 'running', 'skipped', 'denied', 'cancelled', 'error', 'timed_out'],
  awaiting_approval: ['awaiting_client', 'running', 'denied', 'cancelled', 'error'],
  awaiting_client: ['running', 'completed', 'error', 'timed_out', 'skipped', 'denied', 'cancelled'],
  running: [
    'pending',
    'awaiting_approval',
    'awaiting_client',
    'completed',
    'error',
    'timed_out',
    'denied',
    'cancelled',
    'interrupted',
  ],
  completed: [],
  error: [],
  timed_out: [],
  skipped: [],
  denied: [],
  cancelled: [],
  interrupted: ['pending', 'completed', 'error'],
};

/** Whether the call can no longer change, not even by a decision. */
export function isFinal(status: ToolCallStatus): boolean {
  return toolCallMoves[status].length === 0;
}
