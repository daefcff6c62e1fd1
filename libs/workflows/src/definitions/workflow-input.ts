import type { ApprovalPolicy } from '#approvals';
import type { ProviderDownOptions } from '#chat';
import type { ChatMessage } from '#models';

import type { Attachment } from '../engine/node-executor.js';
import type { ResumeFrom } from '../engine/run-plan.js';

/** A version of a workflow: what it holds never changes. */
export interface WorkflowPin {
  readonly id: string;
  readonly version: number;
}

/**
 * What a workflow job was asked to do, as it is stored on its row (`workflowFormat`). What it runs is on the row as well, by id and
 * version: the definition itself is read from there. Never holds a secret.
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
  /** Of a run that a call asked for: values of the inputs that the definition declares. */
  readonly inputs?: Readonly<Record<string, unknown>>;
  /** What has to be asked about beyond the workspace's policy; it only tightens that. */
  readonly toolApproval?: ApprovalPolicy;
  /** Layers of the agents whose calls have led to it, outermost first; they only tighten as well. */
  readonly callerPolicies?: readonly ApprovalPolicy[];
  /** Present: the run takes over the results of an earlier run and adds no message to the thread. */
  readonly resumeFrom?: ResumeFrom;
  /** The job whose prompt this one runs again; it adds no message to the thread either. */
  readonly retryOf?: string;
  /** What counts before the instance's and the agents' settings while the model provider is down. */
  readonly providerDown?: ProviderDownOptions;
  /** The request brought a provider key of its own. */
  readonly hasOwnKey?: boolean;
}

/**
 * The layout of a run. Since 2 its input may say what a worker that knows only the first one would leave out; since 3 its node runs are
 * stored without what is usual of them, which older workers cannot read.
 */
export const workflowFormat = 3;

/** Reads a stored input. The row was written by a start, by this build or one that knows no more. */
export function toWorkflowInput(stored: unknown): WorkflowInput {
  if (typeof stored !== 'object' || stored === null || !('prompt' in stored) || !('subflows' in stored))
    throw new Error('not the input of a workflow job');
  return stored as WorkflowInput; // written from a WorkflowInput; see above
}
