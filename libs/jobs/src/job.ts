import type { JobStatus } from './job.lifecycle.js';
import type { JobLabels } from './job-labels.js';

export const jobKinds = ['chat', 'workflow'] as const;
export type JobKind = (typeof jobKinds)[number];

export function isJobKind(text: string): text is JobKind {
  return (jobKinds as readonly string[]).includes(text);
}

/** The newest layout of job rows that this build reads and writes. An older build does not claim jobs of a newer format. */
export const jobFormat = 4;

/** The format of a job that begins later. A build that does not know this format would begin the job at once. */
export const delayedFormat = 4;

/**
 * SQL condition: the job has no instant, or its instant has come. Workers of an older build may set `in_line` to false before the instant.
 */
export const isDue = (job: string) => `(${job}.start_at IS NULL OR ${job}.start_at <= clock_timestamp())`;

/** Identifies a job across workspaces. */
export interface JobRef {
  readonly workspaceId: string;
  readonly jobId: string;
}

/** Why a job failed. */
export interface JobFailure {
  /** Stable; the list grows. */
  readonly code: string;
  readonly message: string;
  /** Whether a retry of the same job may succeed; absent: it may not. */
  readonly retryable?: boolean;
}

/** A job as an API shows it. Instants in ms since the epoch. */
export interface Job {
  readonly workspaceId: string;
  readonly id: string;
  readonly kind: JobKind;
  readonly status: JobStatus;
  readonly isDeferred: boolean;
  readonly threadId: string | null;
  /** The assistant message that the job writes: our id, and the client's id if the client sent one. */
  readonly messageId: string | null;
  readonly messageClientId: string | null;
  readonly createdBy: string | null;
  /** For a chat of another system: the id that its user has there. */
  readonly externalUserId: string | null;
  readonly retryOf: string | null;
  /** For a sub-job: the job whose tool call started it; that job may have been deleted. */
  readonly parentJobId: string | null;
  /** The id of this call's row. */
  readonly parentCallId: string | null;
  /** Number of parents up to the job that a person started: 0 for that job. */
  readonly depth: number;
  /** For a workflow job: the workflow that it runs. Null for other kinds. */
  readonly workflowId: string | null;
  readonly workflowVersion: number | null;
  readonly model: string;
  readonly labels: JobLabels;
  readonly lastSeq: number;
  /** How often the job withdrew shown text; `attempt` in the wire format. */
  readonly restarts: number;
  readonly reason: string | null;
  readonly error: JobFailure | null;
  readonly promptTokens: number;
  readonly completionTokens: number;
  readonly rounds: number;
  readonly toolCalls: number;
  readonly cancelRequested: boolean;
  readonly createdAt: number;
  /** Null if the job had no instant to begin at. */
  readonly startAt: number | null;
  readonly startedAt: number | null;
  readonly finishedAt: number | null;
}
