/**
 * The life of a job:
 *
 *   queued ──▶ running ──▶ completed | failed | cancelled
 *     ▲  │        │
 *     │  └────────┼──▶ cancelled | failed      (no worker runs it: it ends directly)
 *     │           ▼
 *     └─────── waiting ──▶ cancelled | failed
 *
 * running ▶ queued is a release (drain) or a re-queue. A terminal status never changes; SQL enforces the same moves.
 */
export const jobStatuses = ['queued', 'running', 'waiting', 'completed', 'failed', 'cancelled'] as const;
export type JobStatus = (typeof jobStatuses)[number];

export const terminalStatuses = ['completed', 'failed', 'cancelled'] as const satisfies readonly JobStatus[];
export type TerminalStatus = (typeof terminalStatuses)[number];

export const jobMoves: Readonly<Record<JobStatus, readonly JobStatus[]>> = {
  queued: ['running', 'failed', 'cancelled'],
  running: ['queued', 'waiting', 'completed', 'failed', 'cancelled'],
  waiting: ['queued', 'failed', 'cancelled'],
  completed: [],
  failed: [],
  cancelled: [],
};

export function isTerminal(status: JobStatus): status is TerminalStatus {
  return jobMoves[status].length === 0;
}

export function isJobStatus(text: string): text is JobStatus {
  return (jobStatuses as readonly string[]).includes(text);
}
