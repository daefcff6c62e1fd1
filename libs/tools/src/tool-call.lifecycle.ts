import type { ToolCallStatus } from './tool-call.js';

/**
 * The life of a tool call:
 *
 *   pending ──▶ awaiting_approval ──▶ awaiting_client ──▶ running ──▶ completed | error | timed_out | cancelled
 *      │                │                    │               │
 *      └────────────────┴────────────────────┴──▶ skipped | denied | cancelled, without having run
 *                                                            └──▶ interrupted ──▶ pending | completed | error, by a decision
 *
 * A call that may be called again goes back: to `awaiting_approval` when the policy has become stricter, to `awaiting_client`
 * when its client was lost. One that was sent to the isolated queue and not begun there goes back to `pending` when it has come
 * to need approval: its job asks. What is settled never changes, except `interrupted` by a recorded decision; the table
 * `tool_call` has a trigger that enforces the same.
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

/** Whether nothing changes the call any more, not even a decision. */
export function isFinal(status: ToolCallStatus): boolean {
  return toolCallMoves[status].length === 0;
}
