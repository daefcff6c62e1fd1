import type { ApprovalPolicy } from '#approvals';
import type { ProviderDownOptions } from '#chat';
import type { Idempotency, JobLabels, ParentCall, PartRow, WhenBusy } from '#jobs';
import type { ChatMessage } from '#models';
import type { Secret } from '#platform';

import type { Attachment } from '../engine/node-executor.js';

/** The version that a client expects to run. Every given member is compared. */
export interface KnownDefinition {
  /** When the client's copy was updated, ms since the epoch. */
  readonly updatedAt?: number;
  /** Our version number, or the document's `meta.version`. */
  readonly version?: number | string;
  /** The client's copy; only its content is compared. */
  readonly definition?: unknown;
}

/** The results of an earlier run, as a client knows them. */
export interface KnownRun {
  readonly startNodeId: string;
  /** By node id; unknown nodes are ignored. */
  readonly nodeOutputs: Readonly<Record<string, string>>;
  readonly executionOrder: readonly string[];
  readonly pendingNodes: readonly string[];
  readonly sessionMessages: readonly ChatMessage[] | null;
  /** Replaces the input of the node. */
  readonly resumeInput: string | null;
}

/** A request to run a workflow in the background. Shared by all endpoints. */
export interface StartWorkflow {
  /** The server id of the workflow, or the id in its document. */
  readonly workflowRef: string;
  /** Null: the published version. */
  readonly version: number | null;
  readonly prompt: string;
  /** The server id of the thread, or the client's id. Null: the job belongs to no thread. */
  readonly threadRef: string | null;
  /** Create the thread when `threadRef` is unknown; otherwise an unknown thread is `not_found`. */
  readonly createThread: boolean;
  /** `threadRef` was created for this job: no other job can have used it. */
  readonly threadIsNew?: boolean;
  /** The client's id of the assistant message to be written. */
  readonly messageClientId: string | null;
  /** The conversation before the prompt. */
  readonly history: readonly ChatMessage[];
  /** The name of `history` in the API of the caller, for errors; default `history`. */
  readonly historyField?: string;
  readonly attachments: readonly Attachment[];
  readonly whenBusy: WhenBusy | null;
  /** The job is accepted now and begins at this instant (ms since the epoch). Absent or past: at once. */
  readonly startAt?: number;
  /** Labels of the job. Absent: none. */
  readonly labels?: JobLabels;
  readonly idempotency: Idempotency | null;
  /** The provider key for this job only; stored encrypted and erased when the job ends. */
  readonly providerKey: Secret | null;
  /** Settings for a model provider that is down; they override those of the installation and of agents. */
  readonly providerDown?: ProviderDownOptions;
  readonly known: KnownDefinition;
  readonly resumeFrom: KnownRun | null;
  /** For a start by a tool call: the call, values of the declared inputs, and the policy layers of the caller. */
  readonly parent?: ParentCall;
  readonly inputs?: Readonly<Record<string, unknown>>;
  readonly toolApproval?: ApprovalPolicy | null;
  readonly callerPolicies?: readonly ApprovalPolicy[];
  /** Rows to write with the job; a conflict of one prevents the start. */
  readonly extraRows?: (job: { readonly workspaceId: string; readonly jobId: string }) => readonly PartRow[];
}
