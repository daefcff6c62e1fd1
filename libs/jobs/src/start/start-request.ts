import type { AppError } from '#platform';

import type { PartRow } from '../events/commit-part.js';
import type { JobEventBodies } from '../events/job-event.js';
import type { JobKind } from '../job.js';
import type { JobStatus } from '../job.lifecycle.js';
import type { JobLabels } from '../job-labels.js';

export const whenBusyChoices = ['reject', 'enqueue', 'interrupt'] as const;
export type WhenBusy = (typeof whenBusyChoices)[number];

export const whenFullChoices = ['queue', 'reject'] as const;
/** What a start does if a cap on running jobs is reached. */
export type WhenFull = (typeof whenFullChoices)[number];

/** The thread of a job. */
export interface ThreadTarget {
  /** The server id, or the id that the client chose when it first used the thread. */
  readonly ref: string;
  /** Creates the thread under this title if it does not exist; absent: an unknown thread is an error. */
  readonly createTitle?: string;
  /** `ref` was created for this job, so no row refers to it. */
  readonly isNew?: boolean;
}

/** A key that starts one job, however often it is used. */
export interface Idempotency {
  /** 1 to 255 visible ASCII characters. */
  readonly key: string;
  /** SHA-256 (hex) of the request of the client. */
  readonly requestHash: string;
  /** The owner of the key, if not the principal of the request: attempts with different principals then start one job. */
  readonly owner?: string;
}

export function keyOwner({ principal, idempotency }: Pick<StartRequest, 'principal' | 'idempotency'>): string {
  return idempotency?.owner ?? principal;
}

/** One job to be accepted. The endpoint has checked the right to create jobs; these values are checked against the tables. */
export interface StartRequest {
  /** Created by the caller, so that secrets can be bound to the row before it exists. */
  readonly jobId: string;
  readonly workspaceId: string;
  readonly kind: JobKind;
  /** `user:<id>`, `key:<id>` or `system`. */
  readonly principal: string;
  readonly createdBy: string | null;
  readonly thread: ThreadTarget | null;
  readonly messageClientId: string | null;
  readonly model: string;
  /** Default: no labels. */
  readonly labels?: JobLabels;
  /** The workflow version that a workflow job runs. */
  readonly workflow?: { readonly id: string; readonly version: number };
  /** The agent of the job; its cap on running jobs counts the job. Absent if the job has none, or has not chosen it yet. */
  readonly agentId?: string;
  readonly input: object;
  /**
   * Format of the stored data; each kind of job numbers its own formats. Default 1. A worker of a build that does not know it skips the job.
   */
  readonly format?: number;
  readonly backgroundMode?: unknown;
  /** The job runs only while a client follows it. `JobStarter` sets it. */
  readonly foreground?: boolean;
  readonly keyCipher: Uint8Array | null;
  readonly retryOf: string | null;
  /** The job is accepted now and begins at this instant (ms since the epoch), at most 366 days ahead. Absent or past: it begins at once. */
  readonly startAt?: number;
  /** For a sub-job: the call that starts it. A sub-job acts for its parent's principal and counts for its user. */
  readonly parent?: ParentCall;
  readonly whenBusy?: WhenBusy;
  /** How many jobs may be queued behind the active one of the thread. Default 10. */
  readonly maxQueued?: number;
  /** For a chat of another system: the id that its user has there. */
  readonly externalUser?: string;
  /**
   * Among several queued jobs of a thread, the one with the lowest value starts first, compared by bytes. Jobs without a value start before
   * all others. Equal values: in order of arrival.
   */
  readonly queueOrder?: string;
  readonly idempotency: Idempotency | null;
  /** Rows of the caller about the job, written with it. If they cannot be written, the start fails. */
  readonly extraRows?: readonly PartRow[];
  /**
   * A row of a part that only checks its rows. If the check fails, also for another start of the batch, the start fails with
   * `StartConditionFailed`.
   */
  readonly condition?: PartRow;
  /** The changes that hooks have made to the request; stored with the job. */
  readonly appliedHooks?: NonNullable<JobEventBodies['job-queued']['appliedHooks']>;
}

/** A call that a sub-job runs, or that only starts one. */
export interface ParentCall {
  readonly jobId: string;
  /** The id of the call's row. */
  readonly callId: string;
}

/** The result of a start. */
export interface StartedJob {
  readonly jobId: string;
  readonly status: JobStatus;
  /** The ids as the client knows them. */
  readonly threadId: string | null;
  readonly messageId: string | null;
  /** The idempotency key had started this job before; nothing new was stored. */
  readonly replayed: boolean;
}

/** Numbers of jobs that have not ended. */
export interface Load {
  readonly unfinished: number;
  /** The jobs among them that run or may run at once: `running`, or `queued` and not behind another job of their thread. */
  readonly active: number;
}

/** The facts that a decision depends on, read under the workspace's lock. */
export interface StartFacts {
  readonly workspace: {
    /** Caps on running jobs: the workspace's own, or the operator's ceiling if that is lower. */
    readonly maxJobs: number;
    readonly maxJobsPerUser: number;
    readonly whenFull: WhenFull;
    readonly whenBusy: WhenBusy;
  };
  /** Limits of stored jobs that have not ended. */
  readonly stored: { readonly workspace: number; readonly user: number };
  /** Jobs of the whole workspace. Counts stop above the limits they are compared with; `active` is 0 if the workspace queues starts. */
  readonly total: Load;
  /** Jobs of each user of the batch. */
  readonly load: ReadonlyMap<string, Load>;
  /** Agents of the batch that have a cap; empty if the workspace queues starts over its caps. */
  readonly agents: ReadonlyMap<string, KnownAgent>;
  /** Number of paused runs of each user that expire with this batch, because starts of the same user replace them. */
  readonly expiring?: ReadonlyMap<string, number>;
  /** By `ownedKey`. */
  readonly keys: ReadonlyMap<string, KnownKey>;
  /** By `threadKey`: the user and the client's id of the thread. */
  readonly threads: ReadonlyMap<string, KnownThread>;
  /** Ids of the jobs whose message id exists in their thread. */
  readonly takenMessages: ReadonlySet<string>;
  /** By id of the call. A call that does not exist is missing. */
  readonly parents: ReadonlyMap<string, KnownParent>;
}

/** An agent with a cap on running jobs. */
export interface KnownAgent {
  readonly maxRunningJobs: number;
  /** The number of the agent's jobs that run or may run at once. The count stops at the cap. */
  readonly active: number;
}

/** A job whose tool call starts another job. */
export interface KnownParent {
  readonly depth: number;
  readonly rootJobId: string;
  /** The parent has not ended and no cancel is requested, and its call runs. */
  readonly isOpen: boolean;
  /** Number of its direct sub-jobs, including ended ones. */
  readonly subJobs: number;
}

/** An idempotency key that was used before. */
export interface KnownKey {
  readonly requestHash: string | null;
  readonly cancelled: boolean;
  readonly job: Omit<StartedJob, 'replayed'> | null;
}

export interface KnownThread {
  readonly id: string;
  readonly clientId: string | null;
  readonly createdBy: string;
  readonly whenBusy: WhenBusy | null;
  readonly nextPosition: number;
  readonly activeJobId: string | null;
  readonly queuedJobIds: readonly string[];
}

/** The decision about one request. */
export type StartDecision =
  /** `isOverBound`: refused by a limit of stored jobs that have not ended. */
  | { readonly type: 'refuse'; readonly error: AppError; readonly isOverBound?: true }
  | { readonly type: 'replay'; readonly job: Omit<StartedJob, 'replayed'> }
  /** Another request of the same batch uses the same thread or key: decide again after it. */
  | { readonly type: 'again' }
  | {
      readonly type: 'accept';
      readonly thread: { readonly id: string; readonly isNew: boolean; readonly position: number } | null;
      readonly isDeferred: boolean;
      /** Position behind the active job: 1 is next. */
      readonly queuePosition?: number;
      /** Jobs of the thread that this job supersedes, the active one first. */
      readonly supersedes: readonly string[];
      /** For a sub-job: its root job and its depth. */
      readonly ancestry?: { readonly rootJobId: string; readonly depth: number };
    };
