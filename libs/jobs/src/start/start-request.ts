import type { AppError } from '#platform';

import type { PartRow } from '../events/commit-part.js';
import type { JobKind } from '../job.js';
import type { JobStatus } from '../job.lifecycle.js';

export const whenBusyChoices = ['reject', 'enqueue', 'interrupt'] as const;
export type WhenBusy = (typeof whenBusyChoices)[number];

export const whenFullChoices = ['queue', 'reject'] as const;
/** What a start over a cap of running jobs does. */
export type WhenFull = (typeof whenFullChoices)[number];

/** Which thread a job belongs to. */
export interface ThreadTarget {
  /** Our id, or the id the client gave when it first used the thread. */
  readonly ref: string;
  /** Create it under this title when there is none; otherwise an unknown thread is an error. */
  readonly createTitle?: string;
  /** `ref` was made for this job: nobody can have used it. */
  readonly isNew?: boolean;
}

/** One job to be accepted. The door has checked the right to create jobs; this is checked against the tables. */
export interface StartRequest {
  /** Made by the caller, so that secrets can be bound to the row before it exists. */
  readonly jobId: string;
  readonly workspaceId: string;
  readonly kind: JobKind;
  /** `user:<id>`, `key:<id>` or `system`: whose idempotency key it is. */
  readonly principal: string;
  readonly createdBy: string | null;
  readonly thread: ThreadTarget | null;
  readonly messageClientId: string | null;
  readonly model: string;
  /** What a workflow job runs, pinned. */
  readonly workflow?: { readonly id: string; readonly version: number };
  readonly input: object;
  /** The layout of what is stored of it, as its kind numbers them; 1 where it says nothing. A worker that knows less leaves the job alone. */
  readonly format?: number;
  readonly backgroundMode?: unknown;
  readonly keyCipher: Uint8Array | null;
  readonly retryOf: string | null;
  /** Of a sub-job: the call that has it started. It acts for its parent's principal, and counts for its user. */
  readonly parent?: ParentCall;
  readonly whenBusy?: WhenBusy;
  readonly idempotency: { readonly key: string; readonly requestHash: string } | null;
  /** Rows of the caller's own that are written with the job, or keep it from being accepted; of the job's id. */
  readonly beside?: readonly PartRow[];
}

/** A call whose work is a job, or that only starts one. */
export interface ParentCall {
  readonly jobId: string;
  /** The ledger row's id. */
  readonly callId: string;
}

/** What the starter of a job learns. */
export interface StartedJob {
  readonly jobId: string;
  readonly status: JobStatus;
  /** The ids as the client knows them. */
  readonly threadId: string | null;
  readonly messageId: string | null;
  /** The idempotency key had already started this job; nothing new was stored. */
  readonly replayed: boolean;
}

/** Jobs that have not ended. */
export interface Load {
  readonly unfinished: number;
  /** Of these, the ones that run or may run at once: `running`, or `queued` and not behind another job of their thread. */
  readonly active: number;
}

/** What the database says about the batch, read under the workspace's lock. */
export interface StartFacts {
  readonly workspace: {
    /** Caps on running jobs: the workspace's own, or the operator's ceiling where that is lower. */
    readonly maxJobs: number;
    readonly maxJobsPerUser: number;
    readonly whenFull: WhenFull;
    readonly whenBusy: WhenBusy;
  };
  /** Bounds on stored jobs that have not ended. */
  readonly stored: { readonly workspace: number; readonly user: number };
  /** Jobs of the whole workspace. Counts stop above the limits they are compared with; `active` is 0 where the workspace queues. */
  readonly total: Load;
  /** Jobs of each user of the batch. */
  readonly load: ReadonlyMap<string, Load>;
  /** Paused runs of each user whose time ends with this batch: as many of the user's starts take their places. */
  readonly expiring?: ReadonlyMap<string, number>;
  /** By `principal` and key, joined by a space. */
  readonly admissions: ReadonlyMap<string, KnownAdmission>;
  /** By `threadKey`: whose name for the thread it is, and the name. */
  readonly threads: ReadonlyMap<string, KnownThread>;
  /** Job ids of requests whose message id is used in their thread already. */
  readonly takenMessages: ReadonlySet<string>;
  /** By id of the call; a call that does not exist is left out. */
  readonly parents: ReadonlyMap<string, KnownParent>;
}

/** A job that a call of its own asks for another one. */
export interface KnownParent {
  readonly depth: number;
  readonly rootJobId: string;
  /** Nobody has stopped the parent, and its call runs. */
  readonly isOpen: boolean;
  /** Its own sub-jobs, those that have ended included. */
  readonly subJobs: number;
}

export interface KnownAdmission {
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
  readonly lineJobIds: readonly string[];
}

/** What becomes of one request. */
export type StartDecision =
  /** `isOverBound`: for a bound on stored jobs that have not ended. */
  | { readonly type: 'refuse'; readonly error: AppError; readonly isOverBound?: true }
  | { readonly type: 'replay'; readonly job: Omit<StartedJob, 'replayed'> }
  /** Another request of the same batch uses the same thread or key: decide again afterwards. */
  | { readonly type: 'again' }
  | {
      readonly type: 'accept';
      readonly thread: { readonly id: string; readonly isNew: boolean; readonly position: number } | null;
      readonly inLine: boolean;
      /** Place behind the active job: 1 is next. */
      readonly queuePosition?: number;
      /** Jobs of the thread that this one supersedes, the active one first. */
      readonly supersedes: readonly string[];
      /** Of a sub-job: where it stands. */
      readonly line?: { readonly rootJobId: string; readonly depth: number };
    };
