/** The status of a node or a branch. A cancelled one is `skipped`. */
export type WorkflowNodeStatus = 'pending' | 'active' | 'waiting' | 'completed' | 'error' | 'skipped';

/** A tool call of a node. */
export interface WorkflowToolCall {
  readonly id: string;
  readonly name: string;
  readonly status: 'pending' | 'loading' | 'complete' | 'error' | 'skipped';
  /** JSON text: the arguments that the call runs with. */
  readonly args: string;
  /** The arguments that the model proposed, if a person edited them. */
  readonly proposedArgs?: string;
  readonly result?: string;
  /** Equals `result`. */
  readonly output?: string;
  readonly error?: string;
  /** For an error: whether the same call may succeed later. */
  readonly retryable?: boolean;
}

/** The state of a node; if it ran several times, of the newest run. Instants in ms since the epoch. */
export interface WorkflowNodeState {
  readonly status: WorkflowNodeStatus;
  readonly label: string;
  readonly type: string;
  readonly modelId?: string;
  readonly output: string;
  /** The current text while the node runs. */
  readonly streamingText?: string;
  readonly error?: string;
  /** For an error: whether the same work may succeed later. */
  readonly retryable?: boolean;
  readonly startedAt?: number;
  readonly finishedAt?: number;
  readonly tokenCount?: number;
  readonly route?: string;
  readonly toolCalls?: readonly WorkflowToolCall[];
  /** Numbers of the loop passes or map items around it, outermost first. */
  readonly iteration?: readonly number[];
}

/** A branch of a parallel node. */
export interface WorkflowBranchState {
  readonly id: string;
  readonly label: string;
  readonly status: WorkflowNodeStatus;
  readonly output: string;
  readonly streamingText: string;
  readonly toolCalls: readonly WorkflowToolCall[];
}

/** A request to a person, with the members of its kind (docs/interrupts.md). */
export interface WorkflowRequest {
  readonly id: string;
  readonly nodeId?: string;
  /** For a request of a workflow node an ISO 8601 string, else ms since the epoch. `expiresAt` likewise. */
  readonly createdAt: number | string;
  readonly expiresAt?: number | string;
  /** Absent: the request is open. */
  readonly response?: {
    readonly requestId: string;
    readonly action: string;
    readonly data?: unknown;
    readonly respondedBy?: string;
    readonly respondedAt: number | null;
  };
  readonly [member: string]: unknown;
}

/** A message in OpenAI's shape. */
export interface WorkflowMessage {
  readonly role: 'system' | 'user' | 'assistant' | 'tool';
  /** Text, or parts. Null: the message consists of tool calls. */
  readonly content: string | readonly { readonly type: string }[] | null;
  readonly name?: string;
  readonly tool_call_id?: string;
  readonly tool_calls?: readonly {
    readonly id: string;
    readonly type: 'function';
    readonly function: { readonly name: string; readonly arguments: string };
  }[];
}

/** Where a run that failed or was cancelled can continue: `resumeFrom` of `POST /api/workflows/background`. */
export interface WorkflowResumeState {
  readonly startNodeId: string;
  readonly nodeOutputs: Readonly<Record<string, string>>;
  readonly executionOrder: readonly string[];
  readonly lastActiveNodeId: string | null;
  readonly sessionMessages: readonly WorkflowMessage[];
  readonly resumeInput: string | null;
  readonly pendingNodes: readonly string[];
}

/** How a run ended. */
export interface WorkflowResult {
  readonly success: boolean;
  /** Ms. */
  readonly duration: number;
  readonly totalTokens: number;
  readonly usage: { readonly promptTokens: number; readonly completionTokens: number; readonly totalTokens: number };
  readonly tokenUsageDetails: readonly { readonly nodeId: string; readonly totalTokens: number }[];
  readonly error: {
    readonly code: string;
    readonly message: string;
    readonly retryable: boolean;
    readonly nodeId?: string;
  } | null;
}

/**
 * The state of a workflow job: `workflowState` of `Job` in GraphQL, and `workflow_state` of the status over REST and in SSE frames. Long
 * texts are truncated.
 */
export interface WorkflowState {
  readonly type: 'workflow-execution';
  readonly workflowId: string | null;
  readonly workflowName: string;
  readonly prompt: string;
  readonly attachments?: readonly {
    readonly type: 'image' | 'audio' | 'video' | 'file';
    /** The URL `file:<hash>` is a file of the workspace. */
    readonly url: string;
    readonly name?: string;
    readonly mimeType?: string;
  }[];
  /** `interrupted`: a person decides about a call whose outcome is unknown. A job that is queued or waits is `running`; `pending` is never sent. */
  readonly executionState: 'running' | 'interrupted' | 'completed' | 'error' | 'stopped';
  /** By node id. */
  readonly nodeStates: Readonly<Record<string, WorkflowNodeState>>;
  readonly executionOrder: readonly string[];
  readonly lastActiveNodeId: string | null;
  readonly currentNodeId: string | null;
  readonly finalNodeId: string | null;
  /** By `<node id>:<branch id>`. */
  readonly branches: Readonly<Record<string, WorkflowBranchState>>;
  /** By the id of the request, which a decision must name. */
  readonly hitlRequests: Readonly<Record<string, WorkflowRequest>>;
  readonly finalOutput: string;
  readonly failedNodeId: string | null;
  /** By node id. */
  readonly nodeOutputs: Readonly<Record<string, string>>;
  readonly sessionMessages: readonly WorkflowMessage[];
  /** Null: the run did not fail, or cannot continue. */
  readonly resumeState: WorkflowResumeState | null;
  /** Only grows. */
  readonly version: number;
  /** Null: the run has not ended. */
  readonly result: WorkflowResult | null;
}
