import type { ToolCallItem } from '#jobs';
import type { ChatMessage } from '#models';

import type { Attachment } from '../engine/node-executor.js';
import type { NodeRunStatus } from '../engine/node-run.js';

type NodeState = 'pending' | 'active' | 'waiting' | 'completed' | 'error' | 'skipped';

/** One node for clients of the OR3 protocol: its newest run. */
export interface WorkflowNodeState {
  readonly status: NodeState;
  readonly label: string;
  readonly type: string;
  readonly modelId?: string;
  readonly output: string;
  /** The text streamed so far, while the node is executed. */
  readonly streamingText?: string;
  readonly error?: string;
  /** Of an error: whether the same work may succeed later. */
  readonly retryable?: boolean;
  readonly startedAt?: number;
  readonly finishedAt?: number;
  readonly tokenCount?: number;
  readonly route?: string;
  readonly toolCalls?: readonly ToolCallItem[];
  /** Numbers of the loop passes or map items around it, outermost first. */
  readonly iteration?: readonly number[];
}

export interface WorkflowBranchState {
  readonly id: string;
  readonly label: string;
  readonly status: NodeState;
  readonly output: string;
  readonly streamingText: string;
  readonly toolCalls: readonly ToolCallItem[];
}

/** A request to a person, with the members of its kind, and its answer if it has one. */
export interface WorkflowRequest {
  readonly id: string;
  readonly nodeId?: string;
  /** For a request of a workflow node an ISO 8601 string, else ms since the epoch. `expiresAt` likewise. */
  readonly createdAt: number | string;
  readonly expiresAt?: number | string;
  readonly response?: {
    readonly requestId: string;
    readonly action: string;
    readonly data?: unknown;
    readonly respondedBy?: string;
    readonly respondedAt: number | null;
  };
  readonly [member: string]: unknown;
}

/** Where a failed or stopped run can continue: the value of `resumeFrom` for a start. */
export interface WorkflowResumeState {
  readonly startNodeId: string;
  readonly nodeOutputs: Readonly<Record<string, string>>;
  readonly executionOrder: readonly string[];
  readonly lastActiveNodeId: string | null;
  readonly sessionMessages: readonly ChatMessage[];
  readonly resumeInput: string | null;
  readonly pendingNodes: readonly string[];
}

export interface WorkflowUsage {
  readonly promptTokens: number;
  readonly completionTokens: number;
  readonly totalTokens: number;
}

/** How a run ended. */
export interface WorkflowResult {
  readonly success: boolean;
  /** Ms. */
  readonly duration: number;
  readonly totalTokens: number;
  readonly usage: WorkflowUsage;
  readonly tokenUsageDetails: readonly { readonly nodeId: string; readonly totalTokens: number }[];
  readonly error: {
    readonly code: string;
    readonly message: string;
    readonly retryable: boolean;
    readonly nodeId?: string;
  } | null;
}

/** The state of a workflow job in the format of the OR3 protocol. It is computed from rows at each read, with shortened texts. */
export interface WorkflowState {
  readonly type: 'workflow-execution';
  readonly workflowId: string | null;
  readonly workflowName: string;
  readonly prompt: string;
  readonly attachments?: readonly Attachment[];
  readonly executionState: 'running' | 'interrupted' | 'completed' | 'error' | 'stopped';
  readonly nodeStates: Readonly<Record<string, WorkflowNodeState>>;
  readonly executionOrder: readonly string[];
  readonly lastActiveNodeId: string | null;
  readonly currentNodeId: string | null;
  readonly finalNodeId: string | null;
  readonly branches: Readonly<Record<string, WorkflowBranchState>>;
  readonly hitlRequests: Readonly<Record<string, WorkflowRequest>>;
  readonly finalOutput: string;
  readonly failedNodeId: string | null;
  readonly nodeOutputs: Readonly<Record<string, string>>;
  readonly sessionMessages: readonly ChatMessage[];
  readonly resumeState: WorkflowResumeState | null;
  /** Never decreases. */
  readonly version: number;
  readonly result: WorkflowResult | null;
}

/** The protocol has no word for cancelled nodes. */
export function toNodeState(status: NodeRunStatus): NodeState {
  return status === 'cancelled' ? 'skipped' : status;
}
