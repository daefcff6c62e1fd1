import type { JobStatus } from './job.lifecycle.js';

export const jobKinds = ['chat', 'workflow'] as const;
export type JobKind = (typeof jobKinds)[number];

export function isJobKind(text: string): text is JobKind {
  return (jobKinds as readonly string[]).includes(text);
}

/** The newest layout of rows this build reads and writes; older builds leave newer jobs alone. */
export const jobFormat = 3;

/** Names a job across workspaces. */
export interface JobRef {
  readonly workspaceId: string;
  readonly jobId: string;
}

/** A job as readers see it. Instants in ms since the epoch. */
export interface Job {
  readonly workspaceId: string;
  readonly id: string;
  readonly kind: JobKind;
  readonly status: JobStatus;
  readonly inLine: boolean;
  readonly threadId: string | null;
  /** The assistant message it writes: our id, and the client's own if it gave one. */
  readonly messageId: string | null;
  readonly messageClientId: string | null;
  readonly createdBy: string | null;
  readonly retryOf: string | null;
  /** Of a sub-job: the job whose call it is the work of; that one may be gone by now. */
  readonly parentJobId: string | null;
  /** The ledger row's id of that call. */
  readonly parentCallId: string | null;
  /** How far it is from the job that a person started: 0 for that one. */
  readonly depth: number;
  /** Of a workflow job: what it runs. Null for other kinds. */
  readonly workflowId: string | null;
  readonly workflowVersion: number | null;
  readonly model: string;
  readonly lastSeq: number;
  /** How often shown text was withdrawn; on the wire: `attempt`. */
  readonly restarts: number;
  readonly reason: string | null;
  readonly error: { readonly code: string; readonly message: string } | null;
  readonly promptTokens: number;
  readonly completionTokens: number;
  readonly rounds: number;
  readonly toolCalls: number;
  readonly cancelRequested: boolean;
  readonly createdAt: number;
  readonly startedAt: number | null;
  readonly finishedAt: number | null;
}
