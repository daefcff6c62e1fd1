import type { ApprovalPolicy } from '#approvals';
import type { ProviderDownOptions } from '#chat';
import type { Idempotency, JobLabels, ParentCall, PartRow, WhenBusy } from '#jobs';
import type { ChatMessage } from '#models';
import type { Secret } from '#platform';

import type { Attachment } from '../engine/node-executor.js';

/** What a client believes to be running; each member that is there is compared. */
export interface KnownDefinition {
  /** Of its own copy, ms since the epoch. */
  readonly updatedAt?: number;
  /** A number of ours, or the document's `meta.version`. */
  readonly version?: number | string;
  /** Its copy; only its content counts. */
  readonly definition?: unknown;
}

/** What an earlier run has left, as a client knows it. */
export interface KnownRun {
  readonly startNodeId: string;
  /** By node id; those of nodes that are not in the workflow are passed over. */
  readonly nodeOutputs: Readonly<Record<string, string>>;
  readonly executionOrder: readonly string[];
  readonly pendingNodes: readonly string[];
  readonly sessionMessages: readonly ChatMessage[] | null;
  /** Replaces what the node would read. */
  readonly resumeInput: string | null;
}

/** A request to run a workflow in the background. Shared by all endpoints. */
export interface StartWorkflow {
  /** Our id, or the one its document came with. */
  readonly workflowRef: string;
  /** Null: what is published. */
  readonly version: number | null;
  readonly prompt: string;
  /** Our id of the thread, or the client's own. Null: the job belongs to none. */
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
  /** Accepted now, and begun at this instant (ms since the epoch). Absent or past: at once. */
  readonly startAt?: number;
  /** Labels of the job. Absent: none. */
  readonly labels?: JobLabels;
  readonly idempotency: Idempotency | null;
  /** For this job only; stored encrypted and erased when the job ends. */
  readonly providerKey: Secret | null;
  /** Counts before the instance's and the agents' settings while the model provider is down. */
  readonly providerDown?: ProviderDownOptions;
  readonly known: KnownDefinition;
  readonly resumeFrom: KnownRun | null;
  /** Of a start for a call: which one, values of the declared inputs, and the rules that hold for the caller. */
  readonly parent?: ParentCall;
  readonly inputs?: Readonly<Record<string, unknown>>;
  readonly toolApproval?: ApprovalPolicy | null;
  readonly callerPolicies?: readonly ApprovalPolicy[];
  /** Rows that are written with the job, or keep it from being accepted. */
  readonly beside?: (job: { readonly workspaceId: string; readonly jobId: string }) => readonly PartRow[];
}
