import type { ApprovalPolicy } from '#approvals';
import type { ProviderDownOptions } from '#chat';
import type { ChatMessage } from '#models';

import type { Attachment } from '../engine/node-executor.js';
import type { ResumeFrom } from '../engine/run-plan.js';

/** A version of a workflow, whose content never changes. */
export interface WorkflowPin {
  readonly id: string;
  readonly version: number;
}

/**
 * The request of a workflow job, as the job's row stores it (`workflowFormat`). The row also names the version, whose definition is read from there.
 * Contains no secret.
 */
export interface WorkflowInput {
  /** The user's text. */
  readonly prompt: string;
  /** The conversation before it. */
  readonly history: readonly ChatMessage[];
  readonly attachments: readonly Attachment[];
  /** Versions of the subflows, by the ids that definitions give them; those of subflows included. */
  readonly subflows: Readonly<Record<string, WorkflowPin>>;
  /** Versions of the agents that nodes name, by the names that they give them; those of subflows included. */
  readonly agents?: Readonly<Record<string, WorkflowPin>>;
  /** Versions of the server's tools as they were when the job was accepted. */
  readonly toolPins: Readonly<Record<string, string>>;
  /** Values of the declared inputs, if a tool call started the run. */
  readonly inputs?: Readonly<Record<string, unknown>>;
  /** Approvals that the job requires beyond the policy of the workspace; they can only tighten it. */
  readonly toolApproval?: ApprovalPolicy;
  /** Policy layers of the agents whose calls led to this job, outermost first; they can only tighten the policy, too. */
  readonly callerPolicies?: readonly ApprovalPolicy[];
  /** If present, the run takes over the results of an earlier run and adds no message to the thread. */
  readonly resumeFrom?: ResumeFrom;
  /** The job whose prompt this one runs again; it adds no message to the thread either. */
  readonly retryOf?: string;
  /** Settings for a model provider that is down; they override those of the installation and of agents. */
  readonly providerDown?: ProviderDownOptions;
  /** Whether the request contained a provider key of its own. */
  readonly hasOwnKey?: boolean;
}

/**
 * The layout of a run. Since 2, its input may contain fields that a worker of layout 1 would drop. Since 3, its node runs are stored without default
 * values, which older workers cannot read.
 */
export const workflowFormat = 3;

/** Reads a stored input, written by this build or by an older one. */
export function toWorkflowInput(stored: unknown): WorkflowInput {
  if (typeof stored !== 'object' || stored === null || !('prompt' in stored) || !('subflows' in stored))
    throw new Error('not the input of a workflow job');
  return stored as WorkflowInput; // written from a WorkflowInput; see above
}
