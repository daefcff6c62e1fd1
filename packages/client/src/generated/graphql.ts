/* eslint-disable */
/** Internal type. DO NOT USE DIRECTLY. */
type Exact<T extends { [key: string]: unknown }> = { [K in keyof T]: T[K] };
/** Internal type. DO NOT USE DIRECTLY. */
export type Incremental<T> = T | { [P in keyof T]?: P extends ' $fragmentName' | '__typename' ? T[P] : never };
import type { DocumentTypeDecoration } from '../typed-document.js';
/** Who answers: one agent, or whichever fits best. Exactly one of the two. */
export type AgentWishInput = {
  /** True: the job has a model choose, by what agents are for. */
  readonly auto?: boolean | null | undefined;
  /** An agent: id, slug or name. */
  readonly id?: string | null | undefined;
};

/** One entry of a conversation, in the shape of OpenAI. */
export type ChatMessageInput = {
  /** Text, or an array of pieces (`{"type":"text","text":"…"}`, `image_url` …). */
  readonly content?: unknown;
  /** Name of the speaker, if there are several. */
  readonly name?: string | null | undefined;
  /** `system`, `user`, `assistant` or `tool`. */
  readonly role: string;
  /** Of a `tool` message: the call it answers. */
  readonly toolCallId?: string | null | undefined;
  /** Calls that an assistant message asked for, as OpenAI writes them. */
  readonly toolCalls?: unknown;
};

/** Which call to take on, for which device. */
export type ClaimClientToolInput = {
  /** The call, as the model and the request name it. */
  readonly callId: string;
  /** This device. 1 to 256 characters; made up once and kept. */
  readonly deviceId: string;
  /** The job; you have started it. */
  readonly jobId: string;
};

/** A tool that you run yourself, wherever you are connected: claim its calls and submit results. */
export type ClientToolInput = {
  /** What the model reads about it. */
  readonly description?: string | null | undefined;
  /** What running it twice would do; absent: ONCE. When a client that had begun is lost, only PURE and IDEMPOTENT go to another. */
  readonly effect?: ToolEffect | null | undefined;
  /** 1 to 64 of letters, digits, `_`, `-` and `.`; unique among all tools named here. */
  readonly name: string;
  /** And then; absent: WAIT. */
  readonly onTimeout?: OnClientTimeout | null | undefined;
  /** JSON Schema (2020-12) of its arguments, an object; absent: it takes none. */
  readonly parameters?: unknown;
  /** Ms that a call waits for a client, 1,000 to 604,800,000; absent: 24 hours. */
  readonly timeoutMs?: number | null | undefined;
};

/** Compares an instant. */
export type DateTimeFilter = {
  /** At this instant or later. */
  readonly gte?: string | null | undefined;
  /** Before this instant. */
  readonly lt?: string | null | undefined;
};

/** Who may decide a request. */
export type DecidableBy =
  /** Whoever may approve in this workspace. */
  | 'APPROVERS'
  /** Whoever may change the job. */
  | 'MEMBERS'
  /** The person who started the job; the approvers if nobody did. */
  | 'REQUESTER';

/** How a workflow is drawn. */
export type DiagramFormat =
  /** The text of a Mermaid flowchart. */
  | 'MERMAID'
  /** A picture, as the text of an SVG document without scripts or links. */
  | 'SVG';

/** Compares an id. */
export type IdFilter = {
  /** Is this one. */
  readonly eq: string;
};

/** A document of another system. */
export type ImportWorkflowInput = {
  /** The document (docs/workflows.md): an object, or its JSON text, which is kept byte for byte. At most 1 MiB. */
  readonly definition: unknown;
  /** The `draftVersion` that the change was made from: when somebody has saved meanwhile it is refused (`workflow_changed`). Absent: it replaces what there is. */
  readonly expectedVersion?: number | null | undefined;
};

/** What is done with a HUMAN_INPUT request; `request.actions` says which of them are offered. SUBMIT delivers the event of a WAIT. */
export type InterruptAction =
  /** Goes on; `data`, if given, replaces the input. */
  | 'APPROVE'
  /** One of the request's own options, in `data`. */
  | 'CUSTOM'
  /** Goes on with `data` in place of what was shown; without `data` with what was shown. */
  | 'MODIFY'
  /** Refuses. */
  | 'REJECT'
  /** Passes the question over. Not taken where `request.dataRequired` is true. */
  | 'SKIP'
  /** Answers with `data`. */
  | 'SUBMIT';

/** What is decided: APPROVE or DENY a TOOL_APPROVAL, the others for an UNKNOWN_OUTCOME. */
export type InterruptDecision =
  /** The call runs, with the arguments that were shown or with edited ones. */
  | 'APPROVE'
  /** The call does not run; the model is told. */
  | 'DENY'
  /** It did not; the job goes on without it. */
  | 'DID_NOT_HAPPEN'
  /** The call did run, with this `result`. */
  | 'HAPPENED'
  /** It is called again, with the same idempotency key. */
  | 'REPEAT'
  /** The model is told that nobody knows. */
  | 'REPORT';

/** Which requests a list shows; every member narrows it. */
export type InterruptFilterInput = {
  /** By whom they wait for: `MINE` for all that one may decide oneself, or the id of a user for what is left to that user as the one who asked. */
  readonly assignee?: IdFilter | null | undefined;
  /** By the instant they were opened. */
  readonly createdAt?: DateTimeFilter | null | undefined;
  /** By the job that waits. */
  readonly jobId?: IdFilter | null | undefined;
  /** By kind. */
  readonly kind?: InterruptKindFilter | null | undefined;
  /** By the job that a person started: what that one waits for, and all its sub-jobs. Of a sub-job, what it waits for itself. */
  readonly rootJobId?: IdFilter | null | undefined;
  /** By status. */
  readonly status?: InterruptStatusFilter | null | undefined;
  /** By thread (our id). */
  readonly threadId?: IdFilter | null | undefined;
  /** By the tool they are about. */
  readonly tool?: ToolNameFilter | null | undefined;
};

/** What a job can wait for from outside. The list may grow. */
export type InterruptKind =
  /** A client has to run a tool call. */
  | 'CLIENT_TOOL'
  /** A person has to answer a question. */
  | 'HUMAN_INPUT'
  /** A person has to allow a tool call. */
  | 'TOOL_APPROVAL'
  /** A tool call was started and nobody saw its end: a person has to say what is so. */
  | 'UNKNOWN_OUTCOME'
  /** Nobody is asked: a node of a workflow waits for its time, or for an event. */
  | 'WAIT';

/** Compares what a request asks for. */
export type InterruptKindFilter = {
  /** Is this one. */
  readonly eq?: InterruptKind | null | undefined;
  /** Is one of these. */
  readonly in?: ReadonlyArray<InterruptKind> | null | undefined;
};

/** Where a request stands. All but OPEN are final. */
export type InterruptStatus =
  /** Its job was stopped first. */
  | 'CANCELLED'
  /** Nobody answered in time. */
  | 'EXPIRED'
  /** It waits for its answer. */
  | 'OPEN'
  /** It was answered. */
  | 'RESOLVED';

/** Compares where a request stands. */
export type InterruptStatusFilter = {
  /** Is this one. */
  readonly eq?: InterruptStatus | null | undefined;
  /** Is one of these. */
  readonly in?: ReadonlyArray<InterruptStatus> | null | undefined;
};

/** Which jobs a list shows; every member narrows it. */
export type JobFilterInput = {
  /** By the instant of acceptance. */
  readonly createdAt?: DateTimeFilter | null | undefined;
  /** By the user who started it. */
  readonly createdBy?: IdFilter | null | undefined;
  /** By kind. */
  readonly kind?: JobKindFilter | null | undefined;
  /** By status. */
  readonly status?: JobStatusFilter | null | undefined;
  /** By thread (our id). */
  readonly threadId?: IdFilter | null | undefined;
  /** By workflow (our id). */
  readonly workflowId?: IdFilter | null | undefined;
};

/** What a job does. The list may grow. */
export type JobKind =
  /** Answers in a thread, with tools. */
  | 'CHAT'
  /** Runs an agent workflow. */
  | 'WORKFLOW';

/** Compares a kind. */
export type JobKindFilter = {
  /** Is this one. */
  readonly eq?: JobKind | null | undefined;
  /** Is one of these. */
  readonly in?: ReadonlyArray<JobKind> | null | undefined;
};

/** Where a job stands. COMPLETED, FAILED and CANCELLED are final. The list may grow. */
export type JobStatus =
  /** Somebody stopped it. */
  | 'CANCELLED'
  /** It ended as it was meant to. */
  | 'COMPLETED'
  /** It ended with an error. */
  | 'FAILED'
  /** Accepted; no worker has it yet. */
  | 'QUEUED'
  /** A worker is on it. */
  | 'RUNNING'
  /** It waits for something from outside and holds no worker. */
  | 'WAITING';

/** Compares a status. */
export type JobStatusFilter = {
  /** Is this one. */
  readonly eq?: JobStatus | null | undefined;
  /** Is one of these. */
  readonly in?: ReadonlyArray<JobStatus> | null | undefined;
};

/** What an API key may be used for. It only narrows the role of its user; none implies another. */
export type KeyScope =
  /** Running the workspace. */
  | 'ADMIN'
  /** Decisions. */
  | 'APPROVE'
  /** Reading. */
  | 'READ'
  /** Starting and changing work. */
  | 'WRITE';

/** What a member may do in a workspace. */
export type MemberRole =
  /** Runs the workspace; owners are out of reach. */
  | 'ADMIN'
  /** Works: starts jobs, changes its own. */
  | 'MEMBER'
  /** Everything. */
  | 'OWNER'
  /** Reads. */
  | 'VIEWER';

/** Where the run of a workflow node stands. The list may grow. */
export type NodeRunStatus =
  /** It runs. */
  | 'ACTIVE'
  /** It was stopped. */
  | 'CANCELLED'
  /** It has an output. */
  | 'COMPLETED'
  /** It failed. */
  | 'ERROR'
  /** Not begun. */
  | 'PENDING'
  /** No edge to it was taken, or the run was over first. */
  | 'SKIPPED'
  /** It waits for something from outside. */
  | 'WAITING';

/** Which notifications a list shows; every member narrows it. */
export type NotificationFilterInput = {
  /** Only those that were read, or only those that were not. */
  readonly read?: boolean | null | undefined;
  /** By what they tell of. */
  readonly type?: NotificationTypeFilter | null | undefined;
};

/** What people are told of. The list may grow. */
export type NotificationType =
  /** A job, or a sub-job of it, waits for a person. */
  | 'INPUT_NEEDED'
  /** A job has ended well. */
  | 'JOB_COMPLETED'
  /** A job has failed. */
  | 'JOB_FAILED';

/** Compares what a notification tells of. */
export type NotificationTypeFilter = {
  /** Is this one. */
  readonly eq?: NotificationType | null | undefined;
  /** Is one of these. */
  readonly in?: ReadonlyArray<NotificationType> | null | undefined;
};

/** What becomes of a call that no client serves before its timeout. */
export type OnClientTimeout =
  /** The job fails with `client_tool_timeout`. */
  | 'FAIL'
  /** It is SKIPPED, and the model goes on without it. */
  | 'SKIP'
  /** It waits on: for 24 hours, or for the timeout where that is longer. Then it is TIMED_OUT. */
  | 'WAIT';

/** A draft to publish. */
export type PublishWorkflowInput = {
  /** The `draftVersion` that the change was made from: when somebody has saved meanwhile it is refused (`workflow_changed`). Absent: it replaces what there is. */
  readonly expectedVersion?: number | null | undefined;
  /** The workflow. */
  readonly id: string;
};

/** An answer to one request. Which members count depends on its kind. */
export type ResolveInterruptInput = {
  /** HUMAN_INPUT: what is done with the question. WAIT: SUBMIT. */
  readonly action?: InterruptAction | null | undefined;
  /** TOOL_APPROVAL: an object that replaces all arguments; absent: they stay as they were shown. */
  readonly arguments?: unknown;
  /** TOOL_APPROVAL: the `request.argumentsHash` that was shown; an approval holds for these arguments only. */
  readonly argumentsHash?: string | null | undefined;
  /** HUMAN_INPUT: what was filled in; must fit `request.inputSchema`. WAIT: what comes with the event. */
  readonly data?: unknown;
  /** What is decided; for every kind but HUMAN_INPUT and WAIT. */
  readonly decision?: InterruptDecision | null | undefined;
  /** TOOL_APPROVAL: 5, 10 or 30 minutes in which this operation need not ask again in this thread. */
  readonly grantMinutes?: number | null | undefined;
  /** The request. */
  readonly id: string;
  /** Why; at most 500 characters. The model may read it. */
  readonly reason?: string | null | undefined;
  /** UNKNOWN_OUTCOME: what the call gave, when it HAPPENED; text or JSON of at most 256 KiB. */
  readonly result?: unknown;
};

/** Which job to try again. */
export type RetryJobInput = {
  /** Makes the retry repeatable: the same key gives the same new job. */
  readonly idempotencyKey?: string | null | undefined;
  /** A failed or cancelled job. */
  readonly jobId: string;
};

/** What to answer, where, and with what. */
export type StartChatInput = {
  /** Who answers: an agent of the workspace, or any. Its tools are offered, and bound `tools`. */
  readonly agent?: AgentWishInput | null | undefined;
  /** Binds the client tools to one device: only a claim with this `deviceId` is granted. 1 to 256 characters. */
  readonly clientDeviceId?: string | null | undefined;
  /** The client's id of the assistant message that will be written. */
  readonly clientMessageId?: string | null | undefined;
  /** Tools that your clients run. Their calls become requests that any client of yours may claim. */
  readonly clientTools?: ReadonlyArray<ClientToolInput> | null | undefined;
  /** Makes the start repeatable: the same key and input give the same job, whenever. 1 to 255 visible ASCII characters. */
  readonly idempotencyKey?: string | null | undefined;
  /** What the user says. Either this or `messages`. */
  readonly message?: string | null | undefined;
  /** Several entries; they join the thread. Either this or `message`. */
  readonly messages?: ReadonlyArray<ChatMessageInput> | null | undefined;
  /** The model, unless the agent has one; absent: the provider's default. */
  readonly model?: string | null | undefined;
  /** Sampling fields, as OpenAI names them: `{"temperature":0.2}`. */
  readonly parameters?: unknown;
  /** A provider key for this job only; stored encrypted, erased when the job ends. */
  readonly providerKey?: string | null | undefined;
  /** The thread to answer in: our id, or the client's own, which begins a thread when it is new. Absent: a new thread. */
  readonly threadId?: string | null | undefined;
  /** Approval rules of this request alone, in the shape of the workspace's policy: `{"rules":[{"match":"send_*","action":"require_approval"}]}`. They can only tighten it. */
  readonly toolApproval?: unknown;
  /** `"auto"`, `"none"`, `"required"` or `{"type":"function","function":{"name":"…"}}`, for the first round. */
  readonly toolChoice?: unknown;
  /** Names of the tools that may be called; absent: none. */
  readonly tools?: ReadonlyArray<string> | null | undefined;
  /** What to do when a job is active in the thread; absent: the thread's or workspace's setting. */
  readonly whenBusy?: WhenBusy | null | undefined;
};

/** Which workflow to run, on what, and where. */
export type StartWorkflowInput = {
  /** At most 20. */
  readonly attachments?: ReadonlyArray<WorkflowAttachmentInput> | null | undefined;
  /** The client's id of the assistant message that will be written. */
  readonly clientMessageId?: string | null | undefined;
  /** The conversation before the prompt: a list of `{"role":"user","content":"…"}`. At most 200 entries of 8,000 characters. */
  readonly history?: unknown;
  /** Makes the start repeatable: the same key and input give the same job, whenever. 1 to 255 visible ASCII characters. */
  readonly idempotencyKey?: string | null | undefined;
  /** What the user says: the input of the start node. At most 12,000 characters. */
  readonly prompt: string;
  /** A provider key for this job only; stored encrypted, erased when the job ends. */
  readonly providerKey?: string | null | undefined;
  /** The thread that shows it: our id, or the client's own, which begins a thread when it is new. Absent: none. */
  readonly threadId?: string | null | undefined;
  /** A published version; absent: the one that is published now. */
  readonly version?: number | null | undefined;
  /** What to do when a job is active in the thread; absent: the thread's or workspace's setting. */
  readonly whenBusy?: WhenBusy | null | undefined;
  /** The workflow: our id, or its document's own. */
  readonly workflowId: string;
};

/** How a stop went. */
export type StopState =
  /** The job is cancelled. */
  | 'ABORTED'
  /** It had ended before. */
  | 'ALREADY_TERMINAL'
  /** Its worker was told and has not answered yet; it will end as CANCELLED. */
  | 'CANCEL_REQUESTED';

/** What became of a call: either `result` or `error`. */
export type SubmitClientToolResultInput = {
  /** The call. */
  readonly callId: string;
  /** The claim on it. */
  readonly claimToken: string;
  /** Why it failed; the model reads the first 1,000 characters. */
  readonly error?: string | null | undefined;
  /** The job. */
  readonly jobId: string;
  /** What the tool gave: text or JSON, at most 262,144 bytes. */
  readonly result?: string | null | undefined;
};

/** What to try out: a tool by `id`, or a `definition` that is not stored. */
export type TestToolInput = {
  /** The arguments, an object; absent: none. */
  readonly arguments?: unknown;
  /** A draft (docs/tools.md). Not together with `id`. */
  readonly definition?: unknown;
  /** A tool of the workspace, also a disabled one. */
  readonly id?: string | null | undefined;
};

/** Which threads a list shows; every member narrows it. */
export type ThreadFilterInput = {
  /** Begun by this user. */
  readonly createdBy?: string | null | undefined;
};

/** Where a tool call stands. The list may grow. */
export type ToolCallStatus =
  /** A person has to allow it. */
  | 'AWAITING_APPROVAL'
  /** A client has to run it. */
  | 'AWAITING_CLIENT'
  /** Its job was stopped first. */
  | 'CANCELLED'
  /** It has a result. */
  | 'COMPLETED'
  /** A person refused it. */
  | 'DENIED'
  /** It failed; the model was told why. */
  | 'ERROR'
  /** Nobody knows whether it ran; it is not repeated without a decision. */
  | 'INTERRUPTED'
  /** Asked for, not started. */
  | 'PENDING'
  /** It runs. */
  | 'RUNNING'
  /** It was not run, for a reason the model was told. */
  | 'SKIPPED'
  /** It took longer than its limit and was aborted. */
  | 'TIMED_OUT';

/** What calling a tool twice would do. */
export type ToolEffect =
  /** The same as once: the far side knows the idempotency key. */
  | 'IDEMPOTENT'
  /** It would happen twice, so it is called at most once. */
  | 'ONCE'
  /** Nothing: it changes nothing. */
  | 'PURE';

/** Compares the name of a tool. */
export type ToolNameFilter = {
  /** Is this one. */
  readonly eq: string;
};

/** Who can run a tool. */
export type ToolRuntime =
  /** Only the client that asked. */
  | 'CLIENT'
  /** The server, or the client where there is no handler. */
  | 'HYBRID'
  /** Only the server. */
  | 'SERVER';

/** What kind of thing answers a call. */
export type ToolSort =
  /** The client that asked. */
  | 'CLIENT'
  /** An HTTP tool that the workspace has defined. */
  | 'HTTP'
  /** An MCP server that the workspace has connected. */
  | 'MCP'
  /** Code of this server. */
  | 'SERVER';

/** Which call is about to be run, by which claim. */
export type ValidateClientToolInput = {
  /** The call. */
  readonly callId: string;
  /** The claim on it. */
  readonly claimToken: string;
  /** The job. */
  readonly jobId: string;
};

/** What a start does when a job is active in its thread. */
export type WhenBusy =
  /** It waits in line behind the active job. */
  | 'ENQUEUE'
  /** The active job and the line are cancelled first. */
  | 'INTERRUPT'
  /** It is refused (`thread_busy`). */
  | 'REJECT';

/** Something that goes along with the prompt. */
export type WorkflowAttachmentInput = {
  /** Its media type. */
  readonly mimeType?: string | null | undefined;
  /** Its name. */
  readonly name?: string | null | undefined;
  /** `image`, `audio`, `video` or `file`. */
  readonly type: string;
  /** Where it is, or a `data:` URL. */
  readonly url: string;
};

export type ClaimClientToolMutationVariables = Exact<{
  input: ClaimClientToolInput;
}>;


export type ClaimClientToolMutation = { readonly claimClientTool: { readonly callStatus: ToolCallStatus | null, readonly claim: { readonly claimToken: string, readonly callId: string, readonly name: string, readonly arguments: string, readonly threadId: string | null, readonly messageId: string | null, readonly expiresAt: string } | null, readonly userErrors: ReadonlyArray<{ readonly code: string, readonly field: string | null, readonly message: string, readonly issues: ReadonlyArray<string> }> } };

export type ValidateClientToolMutationVariables = Exact<{
  input: ValidateClientToolInput;
}>;


export type ValidateClientToolMutation = { readonly validateClientTool: { readonly valid: boolean | null, readonly expiresAt: string | null, readonly callStatus: ToolCallStatus | null, readonly userErrors: ReadonlyArray<{ readonly code: string, readonly field: string | null, readonly message: string, readonly issues: ReadonlyArray<string> }> } };

export type SubmitClientToolResultMutationVariables = Exact<{
  input: SubmitClientToolResultInput;
}>;


export type SubmitClientToolResultMutation = { readonly submitClientToolResult: { readonly accepted: boolean | null, readonly callStatus: ToolCallStatus | null, readonly userErrors: ReadonlyArray<{ readonly code: string, readonly field: string | null, readonly message: string, readonly issues: ReadonlyArray<string> }> } };

export type InterruptsQueryVariables = Exact<{
  filter?: InterruptFilterInput | null | undefined;
  first?: number | null | undefined;
  after?: string | null | undefined;
}>;


export type InterruptsQuery = { readonly interrupts: { readonly nodes: ReadonlyArray<{ readonly id: string, readonly kind: InterruptKind, readonly status: InterruptStatus, readonly outcome: string | null, readonly title: string, readonly request: unknown, readonly tool: string | null, readonly callId: string | null, readonly toolCallId: string | null, readonly workflowNodeId: string | null, readonly path: ReadonlyArray<string>, readonly jobId: string, readonly rootJobId: string, readonly threadId: string | null, readonly requester: string | null, readonly mayDecide: boolean, readonly decidableBy: DecidableBy, readonly fourEyes: boolean, readonly adminRequired: boolean, readonly createdAt: string, readonly expiresAt: string | null, readonly decidedAt: string | null, readonly decidedBy: string | null }>, readonly pageInfo: { readonly hasNextPage: boolean, readonly endCursor: string | null } } };

export type InterruptQueryVariables = Exact<{
  id: string;
}>;


export type InterruptQuery = { readonly interrupt: { readonly id: string, readonly kind: InterruptKind, readonly status: InterruptStatus, readonly outcome: string | null, readonly title: string, readonly request: unknown, readonly tool: string | null, readonly callId: string | null, readonly toolCallId: string | null, readonly workflowNodeId: string | null, readonly path: ReadonlyArray<string>, readonly jobId: string, readonly rootJobId: string, readonly threadId: string | null, readonly requester: string | null, readonly mayDecide: boolean, readonly decidableBy: DecidableBy, readonly fourEyes: boolean, readonly adminRequired: boolean, readonly createdAt: string, readonly expiresAt: string | null, readonly decidedAt: string | null, readonly decidedBy: string | null } | null };

export type InterruptActivitySubscriptionVariables = Exact<{
  filter?: InterruptFilterInput | null | undefined;
}>;


export type InterruptActivitySubscription = { readonly interruptActivity: { readonly id: string, readonly kind: InterruptKind, readonly status: InterruptStatus, readonly outcome: string | null, readonly title: string, readonly request: unknown, readonly tool: string | null, readonly callId: string | null, readonly toolCallId: string | null, readonly workflowNodeId: string | null, readonly path: ReadonlyArray<string>, readonly jobId: string, readonly rootJobId: string, readonly threadId: string | null, readonly requester: string | null, readonly mayDecide: boolean, readonly decidableBy: DecidableBy, readonly fourEyes: boolean, readonly adminRequired: boolean, readonly createdAt: string, readonly expiresAt: string | null, readonly decidedAt: string | null, readonly decidedBy: string | null } };

export type ResolveInterruptMutationVariables = Exact<{
  input: ResolveInterruptInput;
}>;


export type ResolveInterruptMutation = { readonly resolveInterrupt: { readonly interrupt: { readonly id: string, readonly kind: InterruptKind, readonly status: InterruptStatus, readonly outcome: string | null, readonly title: string, readonly request: unknown, readonly tool: string | null, readonly callId: string | null, readonly toolCallId: string | null, readonly workflowNodeId: string | null, readonly path: ReadonlyArray<string>, readonly jobId: string, readonly rootJobId: string, readonly threadId: string | null, readonly requester: string | null, readonly mayDecide: boolean, readonly decidableBy: DecidableBy, readonly fourEyes: boolean, readonly adminRequired: boolean, readonly createdAt: string, readonly expiresAt: string | null, readonly decidedAt: string | null, readonly decidedBy: string | null } | null, readonly userErrors: ReadonlyArray<{ readonly code: string, readonly field: string | null, readonly message: string, readonly issues: ReadonlyArray<string> }> } };

export type InterruptFieldsFragment = { readonly id: string, readonly kind: InterruptKind, readonly status: InterruptStatus, readonly outcome: string | null, readonly title: string, readonly request: unknown, readonly tool: string | null, readonly callId: string | null, readonly toolCallId: string | null, readonly workflowNodeId: string | null, readonly path: ReadonlyArray<string>, readonly jobId: string, readonly rootJobId: string, readonly threadId: string | null, readonly requester: string | null, readonly mayDecide: boolean, readonly decidableBy: DecidableBy, readonly fourEyes: boolean, readonly adminRequired: boolean, readonly createdAt: string, readonly expiresAt: string | null, readonly decidedAt: string | null, readonly decidedBy: string | null };

export type JobEventsSubscriptionVariables = Exact<{
  jobId: string;
  after?: number | null | undefined;
}>;


export type JobEventsSubscription = { readonly jobEvents:
    | { readonly __typename: 'AgentSelectedEvent', readonly seq: number, readonly jobId: string, readonly at: string, readonly attempt: number, readonly agent: string, readonly slug: string, readonly name: string, readonly version: number, readonly reasoning: string, readonly fallback: boolean }
    | { readonly __typename: 'BranchFinishedEvent', readonly seq: number, readonly jobId: string, readonly at: string, readonly attempt: number, readonly nodeId: string | null, readonly branchId: string | null, readonly label: string, readonly nodeStatus: NodeRunStatus, readonly output: string, readonly failure: string | null }
    | { readonly __typename: 'BranchStartedEvent', readonly seq: number, readonly jobId: string, readonly at: string, readonly attempt: number, readonly nodeId: string | null, readonly branchId: string | null, readonly label: string }
    | { readonly __typename: 'InterruptOpenedEvent', readonly seq: number, readonly jobId: string, readonly at: string, readonly attempt: number, readonly interruptId: string, readonly kind: InterruptKind, readonly callId: string | null, readonly nodeId: string | null, readonly title: string, readonly expiresAt: string | null, readonly request: unknown }
    | { readonly __typename: 'InterruptReminderEvent', readonly seq: number, readonly jobId: string, readonly at: string, readonly attempt: number, readonly interruptId: string, readonly kind: InterruptKind, readonly title: string, readonly expiresAt: string | null }
    | { readonly __typename: 'InterruptResolvedEvent', readonly seq: number, readonly jobId: string, readonly at: string, readonly attempt: number, readonly interruptId: string, readonly outcome: string, readonly decidedBy: string | null, readonly decidedAt: string }
    | { readonly __typename: 'JobCancelRequestedEvent', readonly seq: number, readonly jobId: string, readonly at: string, readonly attempt: number, readonly by: string, readonly reason: string }
    | { readonly __typename: 'JobFinishedEvent', readonly seq: number, readonly jobId: string, readonly at: string, readonly attempt: number, readonly status: JobStatus, readonly reason: string, readonly contentLength: number, readonly durationMs: number, readonly toolCalls: number, readonly rounds: number, readonly error: { readonly code: string, readonly message: string } | null, readonly usage: { readonly promptTokens: number, readonly completionTokens: number, readonly totalTokens: number } }
    | { readonly __typename: 'JobQueuedEvent', readonly seq: number, readonly jobId: string, readonly at: string, readonly attempt: number, readonly threadId: string | null, readonly messageId: string | null, readonly workflowId: string | null, readonly queuePosition: number | null }
    | { readonly __typename: 'JobRequeuedEvent', readonly seq: number, readonly jobId: string, readonly at: string, readonly attempt: number, readonly reason: string }
    | { readonly __typename: 'JobSnapshotEvent', readonly seq: number, readonly jobId: string, readonly at: string, readonly attempt: number, readonly reset: boolean, readonly status: JobStatus, readonly content: string, readonly reasoning: string, readonly error: { readonly code: string, readonly message: string } | null, readonly roundStates: ReadonlyArray<{ readonly number: number, readonly text: string, readonly reasoning: string }>, readonly toolCallStates: ReadonlyArray<{ readonly callId: string, readonly round: number, readonly name: string, readonly arguments: string, readonly proposedArguments: string | null, readonly status: ToolCallStatus, readonly result: string | null, readonly error: string | null }>, readonly interrupts: ReadonlyArray<{ readonly id: string, readonly kind: InterruptKind, readonly callId: string | null, readonly nodeId: string | null, readonly title: string, readonly request: unknown, readonly expiresAt: string | null }> }
    | { readonly __typename: 'JobStartedEvent', readonly seq: number, readonly jobId: string, readonly at: string, readonly attempt: number, readonly epoch: number }
    | { readonly __typename: 'JobWaitingEvent', readonly seq: number, readonly jobId: string, readonly at: string, readonly attempt: number, readonly interruptIds: ReadonlyArray<string> }
    | { readonly __typename: 'JobWarningEvent', readonly seq: number, readonly jobId: string, readonly at: string, readonly attempt: number, readonly code: string, readonly text: string, readonly nodeId: string | null }
    | { readonly __typename: 'LoopIterationEvent', readonly seq: number, readonly jobId: string, readonly at: string, readonly attempt: number, readonly nodeId: string | null, readonly iteration: number | null, readonly maxIterations: number }
    | { readonly __typename: 'NodeFinishedEvent', readonly seq: number, readonly jobId: string, readonly at: string, readonly attempt: number, readonly nodeRunId: string, readonly nodeId: string | null, readonly label: string, readonly type: string, readonly path: ReadonlyArray<string>, readonly iteration: number | null, readonly nodeStatus: NodeRunStatus, readonly output: string, readonly tokenCount: number | null, readonly error: { readonly code: string, readonly message: string } | null, readonly route: { readonly selectedRoute: string, readonly selectedNodeId: string, readonly selectedName: string, readonly reasoning: string, readonly fallbackUsed: boolean } | null }
    | { readonly __typename: 'NodeStartedEvent', readonly seq: number, readonly jobId: string, readonly at: string, readonly attempt: number, readonly nodeRunId: string, readonly nodeId: string | null, readonly label: string, readonly type: string, readonly path: ReadonlyArray<string>, readonly iteration: number | null }
    | { readonly __typename: 'ReasoningDeltaEvent', readonly seq: number, readonly jobId: string, readonly at: string, readonly attempt: number, readonly round: number, readonly offset: number | null, readonly text: string, readonly nodeId: string | null, readonly branchId: string | null }
    | { readonly __typename: 'RoundFinishedEvent', readonly seq: number, readonly jobId: string, readonly at: string, readonly attempt: number, readonly round: number, readonly finishReason: string, readonly toolCallIds: ReadonlyArray<string>, readonly usage: { readonly promptTokens: number, readonly completionTokens: number, readonly totalTokens: number } }
    | { readonly __typename: 'RoundRestartedEvent', readonly seq: number, readonly jobId: string, readonly at: string, readonly attempt: number, readonly round: number, readonly reason: string, readonly contentLength: number, readonly reasoningLength: number, readonly nodeId: string | null, readonly branchId: string | null }
    | { readonly __typename: 'RoundStartedEvent', readonly seq: number, readonly jobId: string, readonly at: string, readonly attempt: number, readonly round: number, readonly model: string, readonly nodeId: string | null }
    | { readonly __typename: 'RouteSelectedEvent', readonly seq: number, readonly jobId: string, readonly at: string, readonly attempt: number, readonly nodeId: string | null, readonly routeId: string, readonly name: string, readonly reasoning: string, readonly fallbackUsed: boolean }
    | { readonly __typename: 'TextDeltaEvent', readonly seq: number, readonly jobId: string, readonly at: string, readonly attempt: number, readonly round: number, readonly offset: number | null, readonly text: string, readonly nodeId: string | null, readonly branchId: string | null }
    | { readonly __typename: 'ToolCallEvent', readonly seq: number, readonly jobId: string, readonly at: string, readonly attempt: number, readonly nodeId: string | null, readonly toolCall: { readonly callId: string, readonly round: number, readonly name: string, readonly arguments: string, readonly proposedArguments: string | null, readonly status: ToolCallStatus, readonly result: string | null, readonly error: string | null } }
    | { readonly __typename: 'ToolCallUpdatedEvent', readonly seq: number, readonly jobId: string, readonly at: string, readonly attempt: number, readonly nodeId: string | null, readonly toolCall: { readonly callId: string, readonly round: number, readonly name: string, readonly arguments: string, readonly proposedArguments: string | null, readonly status: ToolCallStatus, readonly result: string | null, readonly error: string | null } }
    | { readonly __typename: 'ToolProgressEvent', readonly seq: number, readonly jobId: string, readonly at: string, readonly attempt: number, readonly subJobId: string | null, readonly seqInCall: number, readonly progress: number | null, readonly total: number | null, readonly message: string | null, readonly progressOf: string }
   };

export type ToolCallFieldsFragment = { readonly callId: string, readonly round: number, readonly name: string, readonly arguments: string, readonly proposedArguments: string | null, readonly status: ToolCallStatus, readonly result: string | null, readonly error: string | null };

export type UsageFieldsFragment = { readonly promptTokens: number, readonly completionTokens: number, readonly totalTokens: number };

export type StartChatMutationVariables = Exact<{
  input: StartChatInput;
}>;


export type StartChatMutation = { readonly startChat: { readonly jobId: string | null, readonly messageId: string | null, readonly threadId: string | null, readonly replayed: boolean | null, readonly status: JobStatus | null, readonly userErrors: ReadonlyArray<{ readonly code: string, readonly field: string | null, readonly message: string, readonly issues: ReadonlyArray<string> }> } };

export type StartWorkflowMutationVariables = Exact<{
  input: StartWorkflowInput;
}>;


export type StartWorkflowMutation = { readonly startWorkflow: { readonly jobId: string | null, readonly messageId: string | null, readonly threadId: string | null, readonly replayed: boolean | null, readonly status: JobStatus | null, readonly userErrors: ReadonlyArray<{ readonly code: string, readonly field: string | null, readonly message: string, readonly issues: ReadonlyArray<string> }> } };

export type RetryJobMutationVariables = Exact<{
  input: RetryJobInput;
}>;


export type RetryJobMutation = { readonly retryJob: { readonly jobId: string | null, readonly messageId: string | null, readonly threadId: string | null, readonly replayed: boolean | null, readonly status: JobStatus | null, readonly userErrors: ReadonlyArray<{ readonly code: string, readonly field: string | null, readonly message: string, readonly issues: ReadonlyArray<string> }> } };

export type CancelJobMutationVariables = Exact<{
  jobId: string;
}>;


export type CancelJobMutation = { readonly cancelJob: { readonly state: StopState | null, readonly userErrors: ReadonlyArray<{ readonly code: string, readonly field: string | null, readonly message: string, readonly issues: ReadonlyArray<string> }> } };

export type JobStateQueryVariables = Exact<{
  id: string;
}>;


export type JobStateQuery = { readonly job: { readonly id: string, readonly kind: JobKind, readonly status: JobStatus, readonly reason: string | null, readonly model: string, readonly threadId: string | null, readonly messageId: string | null, readonly workflowId: string | null, readonly workflowVersion: number | null, readonly createdAt: string, readonly startedAt: string | null, readonly finishedAt: string | null, readonly lastSeq: number, readonly inLine: boolean, readonly cancelRequested: boolean, readonly agent: { readonly id: string, readonly slug: string, readonly name: string, readonly version: number } | null, readonly error: { readonly code: string, readonly message: string } | null, readonly usage: { readonly promptTokens: number, readonly completionTokens: number, readonly totalTokens: number } } | null };

export type JobResultQueryVariables = Exact<{
  id: string;
}>;


export type JobResultQuery = { readonly job: { readonly content: string, readonly id: string, readonly kind: JobKind, readonly status: JobStatus, readonly reason: string | null, readonly model: string, readonly threadId: string | null, readonly messageId: string | null, readonly workflowId: string | null, readonly workflowVersion: number | null, readonly createdAt: string, readonly startedAt: string | null, readonly finishedAt: string | null, readonly lastSeq: number, readonly inLine: boolean, readonly cancelRequested: boolean, readonly toolCalls: ReadonlyArray<{ readonly id: string, readonly callId: string, readonly name: string, readonly arguments: string, readonly proposedArguments: string | null, readonly status: ToolCallStatus, readonly result: string | null }>, readonly agent: { readonly id: string, readonly slug: string, readonly name: string, readonly version: number } | null, readonly error: { readonly code: string, readonly message: string } | null, readonly usage: { readonly promptTokens: number, readonly completionTokens: number, readonly totalTokens: number } } | null };

export type SubJobsQueryVariables = Exact<{
  id: string;
}>;


export type SubJobsQuery = { readonly job: { readonly subJobs: ReadonlyArray<{ readonly id: string, readonly status: JobStatus }> } | null };

export type JobsQueryVariables = Exact<{
  filter?: JobFilterInput | null | undefined;
  first?: number | null | undefined;
  after?: string | null | undefined;
}>;


export type JobsQuery = { readonly jobs: { readonly nodes: ReadonlyArray<{ readonly id: string, readonly kind: JobKind, readonly status: JobStatus, readonly reason: string | null, readonly model: string, readonly threadId: string | null, readonly messageId: string | null, readonly workflowId: string | null, readonly workflowVersion: number | null, readonly createdAt: string, readonly startedAt: string | null, readonly finishedAt: string | null, readonly lastSeq: number, readonly inLine: boolean, readonly cancelRequested: boolean, readonly agent: { readonly id: string, readonly slug: string, readonly name: string, readonly version: number } | null, readonly error: { readonly code: string, readonly message: string } | null, readonly usage: { readonly promptTokens: number, readonly completionTokens: number, readonly totalTokens: number } }>, readonly pageInfo: { readonly hasNextPage: boolean, readonly endCursor: string | null } } };

export type JobFieldsFragment = { readonly id: string, readonly kind: JobKind, readonly status: JobStatus, readonly reason: string | null, readonly model: string, readonly threadId: string | null, readonly messageId: string | null, readonly workflowId: string | null, readonly workflowVersion: number | null, readonly createdAt: string, readonly startedAt: string | null, readonly finishedAt: string | null, readonly lastSeq: number, readonly inLine: boolean, readonly cancelRequested: boolean, readonly agent: { readonly id: string, readonly slug: string, readonly name: string, readonly version: number } | null, readonly error: { readonly code: string, readonly message: string } | null, readonly usage: { readonly promptTokens: number, readonly completionTokens: number, readonly totalTokens: number } };

export type StartedFragment = { readonly jobId: string | null, readonly messageId: string | null, readonly threadId: string | null, readonly replayed: boolean | null, readonly status: JobStatus | null, readonly userErrors: ReadonlyArray<{ readonly code: string, readonly field: string | null, readonly message: string, readonly issues: ReadonlyArray<string> }> };

export type RefusalFragment = { readonly code: string, readonly field: string | null, readonly message: string, readonly issues: ReadonlyArray<string> };

export type NotificationsQueryVariables = Exact<{
  filter?: NotificationFilterInput | null | undefined;
  first?: number | null | undefined;
  after?: string | null | undefined;
}>;


export type NotificationsQuery = { readonly notifications: { readonly nodes: ReadonlyArray<{ readonly id: string, readonly type: NotificationType, readonly title: string, readonly at: string, readonly read: boolean, readonly readAt: string | null, readonly jobId: string, readonly rootJobId: string, readonly threadId: string | null, readonly interruptId: string | null }>, readonly pageInfo: { readonly hasNextPage: boolean, readonly endCursor: string | null } } };

export type UnreadNotificationCountQueryVariables = Exact<{ [key: string]: never; }>;


export type UnreadNotificationCountQuery = { readonly notifications: { readonly totalCount: number | null } };

export type NotificationActivitySubscriptionVariables = Exact<{
  filter?: NotificationFilterInput | null | undefined;
}>;


export type NotificationActivitySubscription = { readonly notificationActivity: { readonly id: string, readonly type: NotificationType, readonly title: string, readonly at: string, readonly read: boolean, readonly readAt: string | null, readonly jobId: string, readonly rootJobId: string, readonly threadId: string | null, readonly interruptId: string | null } };

export type MarkNotificationReadMutationVariables = Exact<{
  id: string;
}>;


export type MarkNotificationReadMutation = { readonly markNotificationRead: { readonly notification: { readonly id: string, readonly type: NotificationType, readonly title: string, readonly at: string, readonly read: boolean, readonly readAt: string | null, readonly jobId: string, readonly rootJobId: string, readonly threadId: string | null, readonly interruptId: string | null } | null, readonly userErrors: ReadonlyArray<{ readonly code: string, readonly field: string | null, readonly message: string, readonly issues: ReadonlyArray<string> }> } };

export type MarkAllNotificationsReadMutationVariables = Exact<{
  upTo?: string | null | undefined;
}>;


export type MarkAllNotificationsReadMutation = { readonly markAllNotificationsRead: { readonly marked: number | null, readonly userErrors: ReadonlyArray<{ readonly code: string, readonly field: string | null, readonly message: string, readonly issues: ReadonlyArray<string> }> } };

export type NotificationFieldsFragment = { readonly id: string, readonly type: NotificationType, readonly title: string, readonly at: string, readonly read: boolean, readonly readAt: string | null, readonly jobId: string, readonly rootJobId: string, readonly threadId: string | null, readonly interruptId: string | null };

export type WorkflowsQueryVariables = Exact<{
  first?: number | null | undefined;
  after?: string | null | undefined;
}>;


export type WorkflowsQuery = { readonly workflows: { readonly nodes: ReadonlyArray<{ readonly id: string, readonly clientId: string | null, readonly name: string, readonly slug: string, readonly description: string, readonly draftVersion: number, readonly publishedVersion: number | null, readonly latestVersion: number, readonly updatedAt: string }>, readonly pageInfo: { readonly hasNextPage: boolean, readonly endCursor: string | null } } };

export type WorkflowQueryVariables = Exact<{
  id: string;
}>;


export type WorkflowQuery = { readonly workflow: { readonly draft: unknown, readonly id: string, readonly clientId: string | null, readonly name: string, readonly slug: string, readonly description: string, readonly draftVersion: number, readonly publishedVersion: number | null, readonly latestVersion: number, readonly updatedAt: string, readonly issues: ReadonlyArray<{ readonly type: string, readonly code: string, readonly message: string, readonly path: string, readonly nodeId: string | null, readonly edgeId: string | null }> } | null };

export type WorkflowDiagramQueryVariables = Exact<{
  id: string;
  format: DiagramFormat;
}>;


export type WorkflowDiagramQuery = { readonly workflow: { readonly diagram: string } | null };

export type JobDiagramQueryVariables = Exact<{
  id: string;
  format: DiagramFormat;
}>;


export type JobDiagramQuery = { readonly job: { readonly diagram: string | null } | null };

export type ValidateWorkflowQueryVariables = Exact<{
  definition: unknown;
}>;


export type ValidateWorkflowQuery = { readonly validateWorkflow: { readonly isValid: boolean, readonly errors: ReadonlyArray<{ readonly type: string, readonly code: string, readonly message: string, readonly path: string, readonly nodeId: string | null, readonly edgeId: string | null }>, readonly warnings: ReadonlyArray<{ readonly type: string, readonly code: string, readonly message: string, readonly path: string, readonly nodeId: string | null, readonly edgeId: string | null }> } };

export type ImportWorkflowMutationVariables = Exact<{
  input: ImportWorkflowInput;
}>;


export type ImportWorkflowMutation = { readonly importWorkflow: { readonly workflow: { readonly id: string, readonly clientId: string | null, readonly name: string, readonly slug: string, readonly description: string, readonly draftVersion: number, readonly publishedVersion: number | null, readonly latestVersion: number, readonly updatedAt: string } | null, readonly issues: ReadonlyArray<{ readonly type: string, readonly code: string, readonly message: string, readonly path: string, readonly nodeId: string | null, readonly edgeId: string | null }> | null, readonly userErrors: ReadonlyArray<{ readonly code: string, readonly field: string | null, readonly message: string, readonly issues: ReadonlyArray<string> }> } };

export type PublishWorkflowMutationVariables = Exact<{
  input: PublishWorkflowInput;
}>;


export type PublishWorkflowMutation = { readonly publishWorkflow: { readonly version: { readonly number: number, readonly hash: string } | null, readonly issues: ReadonlyArray<{ readonly type: string, readonly code: string, readonly message: string, readonly path: string, readonly nodeId: string | null, readonly edgeId: string | null }> | null, readonly userErrors: ReadonlyArray<{ readonly code: string, readonly field: string | null, readonly message: string, readonly issues: ReadonlyArray<string> }> } };

export type WorkflowFieldsFragment = { readonly id: string, readonly clientId: string | null, readonly name: string, readonly slug: string, readonly description: string, readonly draftVersion: number, readonly publishedVersion: number | null, readonly latestVersion: number, readonly updatedAt: string };

export type WorkflowIssueFieldsFragment = { readonly type: string, readonly code: string, readonly message: string, readonly path: string, readonly nodeId: string | null, readonly edgeId: string | null };

export type MeQueryVariables = Exact<{ [key: string]: never; }>;


export type MeQuery = { readonly me: { readonly id: string, readonly workspaceId: string | null, readonly role: MemberRole | null, readonly scopes: ReadonlyArray<KeyScope>, readonly memberships: ReadonlyArray<{ readonly workspaceId: string, readonly role: MemberRole }> } };

export type ToolsQueryVariables = Exact<{ [key: string]: never; }>;


export type ToolsQuery = { readonly tools: ReadonlyArray<{ readonly name: string, readonly description: string, readonly effect: ToolEffect, readonly runtime: ToolRuntime, readonly sort: ToolSort, readonly timeoutMs: number | null, readonly version: string, readonly parameters: unknown }> };

export type TestToolMutationVariables = Exact<{
  input: TestToolInput;
}>;


export type TestToolMutation = { readonly testTool: { readonly trial: { readonly durationMs: number, readonly status: number | null, readonly result: string | null, readonly error: string | null, readonly excerpt: string | null, readonly hint: string | null } | null, readonly userErrors: ReadonlyArray<{ readonly code: string, readonly field: string | null, readonly message: string, readonly issues: ReadonlyArray<string> }> } };

export type ThreadsQueryVariables = Exact<{
  filter?: ThreadFilterInput | null | undefined;
  first?: number | null | undefined;
  after?: string | null | undefined;
}>;


export type ThreadsQuery = { readonly threads: { readonly nodes: ReadonlyArray<{ readonly id: string, readonly clientId: string | null, readonly title: string, readonly createdAt: string, readonly updatedAt: string }>, readonly pageInfo: { readonly hasNextPage: boolean, readonly endCursor: string | null } } };

export type MessagesQueryVariables = Exact<{
  threadId: string;
  first?: number | null | undefined;
  after?: string | null | undefined;
}>;


export type MessagesQuery = { readonly messages: { readonly nodes: ReadonlyArray<{ readonly id: string, readonly clientId: string | null, readonly role: string, readonly content: unknown, readonly jobId: string | null, readonly position: number, readonly createdAt: string }>, readonly pageInfo: { readonly hasNextPage: boolean, readonly endCursor: string | null } } | null };

export type WorkspaceActivitySubscriptionVariables = Exact<{ [key: string]: never; }>;


export type WorkspaceActivitySubscription = { readonly workspaceActivity: { readonly jobId: string, readonly status: JobStatus, readonly lastSeq: number } };

export class TypedDocumentString<TResult, TVariables>
  extends String
  implements DocumentTypeDecoration<TResult, TVariables>
{
  __apiType?: NonNullable<DocumentTypeDecoration<TResult, TVariables>['__apiType']>;
  private value: string;
  public __meta__?: Record<string, any> | undefined;

  constructor(value: string, __meta__?: Record<string, any> | undefined) {
    super(value);
    this.value = value;
    this.__meta__ = __meta__;
  }

  override toString(): string & DocumentTypeDecoration<TResult, TVariables> {
    return this.value;
  }
}
export const InterruptFieldsFragmentDoc = new TypedDocumentString(`
    fragment InterruptFields on Interrupt {
  id
  kind
  status
  outcome
  title
  request
  tool
  callId
  toolCallId
  workflowNodeId
  path
  jobId
  rootJobId
  threadId
  requester
  mayDecide
  decidableBy
  fourEyes
  adminRequired
  createdAt
  expiresAt
  decidedAt
  decidedBy
}
    `, {"fragmentName":"InterruptFields"}) as unknown as TypedDocumentString<InterruptFieldsFragment, unknown>;
export const ToolCallFieldsFragmentDoc = new TypedDocumentString(`
    fragment ToolCallFields on ToolCallState {
  callId
  round
  name
  arguments
  proposedArguments
  status
  result
  error
}
    `, {"fragmentName":"ToolCallFields"}) as unknown as TypedDocumentString<ToolCallFieldsFragment, unknown>;
export const UsageFieldsFragmentDoc = new TypedDocumentString(`
    fragment UsageFields on Usage {
  promptTokens
  completionTokens
  totalTokens
}
    `, {"fragmentName":"UsageFields"}) as unknown as TypedDocumentString<UsageFieldsFragment, unknown>;
export const JobFieldsFragmentDoc = new TypedDocumentString(`
    fragment JobFields on Job {
  id
  kind
  status
  reason
  model
  threadId
  messageId
  workflowId
  workflowVersion
  agent {
    id
    slug
    name
    version
  }
  createdAt
  startedAt
  finishedAt
  lastSeq
  inLine
  cancelRequested
  error {
    code
    message
  }
  usage {
    ...UsageFields
  }
}
    fragment UsageFields on Usage {
  promptTokens
  completionTokens
  totalTokens
}`, {"fragmentName":"JobFields"}) as unknown as TypedDocumentString<JobFieldsFragment, unknown>;
export const RefusalFragmentDoc = new TypedDocumentString(`
    fragment Refusal on UserError {
  code
  field
  message
  issues
}
    `, {"fragmentName":"Refusal"}) as unknown as TypedDocumentString<RefusalFragment, unknown>;
export const StartedFragmentDoc = new TypedDocumentString(`
    fragment Started on StartJobPayload {
  jobId
  messageId
  threadId
  replayed
  status
  userErrors {
    ...Refusal
  }
}
    fragment Refusal on UserError {
  code
  field
  message
  issues
}`, {"fragmentName":"Started"}) as unknown as TypedDocumentString<StartedFragment, unknown>;
export const NotificationFieldsFragmentDoc = new TypedDocumentString(`
    fragment NotificationFields on Notification {
  id
  type
  title
  at
  read
  readAt
  jobId
  rootJobId
  threadId
  interruptId
}
    `, {"fragmentName":"NotificationFields"}) as unknown as TypedDocumentString<NotificationFieldsFragment, unknown>;
export const WorkflowFieldsFragmentDoc = new TypedDocumentString(`
    fragment WorkflowFields on Workflow {
  id
  clientId
  name
  slug
  description
  draftVersion
  publishedVersion
  latestVersion
  updatedAt
}
    `, {"fragmentName":"WorkflowFields"}) as unknown as TypedDocumentString<WorkflowFieldsFragment, unknown>;
export const WorkflowIssueFieldsFragmentDoc = new TypedDocumentString(`
    fragment WorkflowIssueFields on WorkflowIssue {
  type
  code
  message
  path
  nodeId
  edgeId
}
    `, {"fragmentName":"WorkflowIssueFields"}) as unknown as TypedDocumentString<WorkflowIssueFieldsFragment, unknown>;
export const ClaimClientToolDocument = new TypedDocumentString(`
    mutation ClaimClientTool($input: ClaimClientToolInput!) {
  claimClientTool(input: $input) {
    claim {
      claimToken
      callId
      name
      arguments
      threadId
      messageId
      expiresAt
    }
    callStatus
    userErrors {
      ...Refusal
    }
  }
}
    fragment Refusal on UserError {
  code
  field
  message
  issues
}`) as unknown as TypedDocumentString<ClaimClientToolMutation, ClaimClientToolMutationVariables>;
export const ValidateClientToolDocument = new TypedDocumentString(`
    mutation ValidateClientTool($input: ValidateClientToolInput!) {
  validateClientTool(input: $input) {
    valid
    expiresAt
    callStatus
    userErrors {
      ...Refusal
    }
  }
}
    fragment Refusal on UserError {
  code
  field
  message
  issues
}`) as unknown as TypedDocumentString<ValidateClientToolMutation, ValidateClientToolMutationVariables>;
export const SubmitClientToolResultDocument = new TypedDocumentString(`
    mutation SubmitClientToolResult($input: SubmitClientToolResultInput!) {
  submitClientToolResult(input: $input) {
    accepted
    callStatus
    userErrors {
      ...Refusal
    }
  }
}
    fragment Refusal on UserError {
  code
  field
  message
  issues
}`) as unknown as TypedDocumentString<SubmitClientToolResultMutation, SubmitClientToolResultMutationVariables>;
export const InterruptsDocument = new TypedDocumentString(`
    query Interrupts($filter: InterruptFilterInput, $first: Int, $after: String) {
  interrupts(filter: $filter, first: $first, after: $after) {
    nodes {
      ...InterruptFields
    }
    pageInfo {
      hasNextPage
      endCursor
    }
  }
}
    fragment InterruptFields on Interrupt {
  id
  kind
  status
  outcome
  title
  request
  tool
  callId
  toolCallId
  workflowNodeId
  path
  jobId
  rootJobId
  threadId
  requester
  mayDecide
  decidableBy
  fourEyes
  adminRequired
  createdAt
  expiresAt
  decidedAt
  decidedBy
}`) as unknown as TypedDocumentString<InterruptsQuery, InterruptsQueryVariables>;
export const InterruptDocument = new TypedDocumentString(`
    query Interrupt($id: ID!) {
  interrupt(id: $id) {
    ...InterruptFields
  }
}
    fragment InterruptFields on Interrupt {
  id
  kind
  status
  outcome
  title
  request
  tool
  callId
  toolCallId
  workflowNodeId
  path
  jobId
  rootJobId
  threadId
  requester
  mayDecide
  decidableBy
  fourEyes
  adminRequired
  createdAt
  expiresAt
  decidedAt
  decidedBy
}`) as unknown as TypedDocumentString<InterruptQuery, InterruptQueryVariables>;
export const InterruptActivityDocument = new TypedDocumentString(`
    subscription InterruptActivity($filter: InterruptFilterInput) {
  interruptActivity(filter: $filter) {
    ...InterruptFields
  }
}
    fragment InterruptFields on Interrupt {
  id
  kind
  status
  outcome
  title
  request
  tool
  callId
  toolCallId
  workflowNodeId
  path
  jobId
  rootJobId
  threadId
  requester
  mayDecide
  decidableBy
  fourEyes
  adminRequired
  createdAt
  expiresAt
  decidedAt
  decidedBy
}`) as unknown as TypedDocumentString<InterruptActivitySubscription, InterruptActivitySubscriptionVariables>;
export const ResolveInterruptDocument = new TypedDocumentString(`
    mutation ResolveInterrupt($input: ResolveInterruptInput!) {
  resolveInterrupt(input: $input) {
    interrupt {
      ...InterruptFields
    }
    userErrors {
      ...Refusal
    }
  }
}
    fragment InterruptFields on Interrupt {
  id
  kind
  status
  outcome
  title
  request
  tool
  callId
  toolCallId
  workflowNodeId
  path
  jobId
  rootJobId
  threadId
  requester
  mayDecide
  decidableBy
  fourEyes
  adminRequired
  createdAt
  expiresAt
  decidedAt
  decidedBy
}
fragment Refusal on UserError {
  code
  field
  message
  issues
}`) as unknown as TypedDocumentString<ResolveInterruptMutation, ResolveInterruptMutationVariables>;
export const JobEventsDocument = new TypedDocumentString(`
    subscription JobEvents($jobId: ID!, $after: Int) {
  jobEvents(jobId: $jobId, after: $after) {
    __typename
    ... on JobEventEntry {
      seq
      jobId
      at
      attempt
    }
    ... on JobSnapshotEvent {
      reset
      status
      content
      reasoning
      error {
        code
        message
      }
      roundStates: rounds {
        number
        text
        reasoning
      }
      toolCallStates: toolCalls {
        ...ToolCallFields
      }
      interrupts {
        id
        kind
        callId
        nodeId
        title
        request
        expiresAt
      }
    }
    ... on JobQueuedEvent {
      threadId
      messageId
      workflowId
      queuePosition
    }
    ... on JobStartedEvent {
      epoch
    }
    ... on AgentSelectedEvent {
      agent
      slug
      name
      version
      reasoning
      fallback
    }
    ... on RoundStartedEvent {
      round
      model
      nodeId
    }
    ... on TextDeltaEvent {
      round
      offset
      text
      nodeId
      branchId
    }
    ... on ReasoningDeltaEvent {
      round
      offset
      text
      nodeId
      branchId
    }
    ... on RoundRestartedEvent {
      round
      reason
      contentLength
      reasoningLength
      nodeId
      branchId
    }
    ... on RoundFinishedEvent {
      round
      finishReason
      toolCallIds
      usage {
        ...UsageFields
      }
    }
    ... on ToolCallEvent {
      nodeId
      toolCall {
        ...ToolCallFields
      }
    }
    ... on ToolCallUpdatedEvent {
      nodeId
      toolCall {
        ...ToolCallFields
      }
    }
    ... on ToolProgressEvent {
      progressOf: callId
      subJobId
      seqInCall
      progress
      total
      message
    }
    ... on InterruptOpenedEvent {
      interruptId
      kind
      callId
      nodeId
      title
      expiresAt
      request
    }
    ... on InterruptReminderEvent {
      interruptId
      kind
      title
      expiresAt
    }
    ... on InterruptResolvedEvent {
      interruptId
      outcome
      decidedBy
      decidedAt
    }
    ... on JobWaitingEvent {
      interruptIds
    }
    ... on JobRequeuedEvent {
      reason
    }
    ... on NodeStartedEvent {
      nodeRunId
      nodeId
      label
      type
      path
      iteration
    }
    ... on NodeFinishedEvent {
      nodeRunId
      nodeId
      label
      type
      path
      iteration
      nodeStatus
      output
      tokenCount
      error {
        code
        message
      }
      route {
        selectedRoute
        selectedNodeId
        selectedName
        reasoning
        fallbackUsed
      }
    }
    ... on BranchStartedEvent {
      nodeId
      branchId
      label
    }
    ... on BranchFinishedEvent {
      nodeId
      branchId
      label
      nodeStatus
      output
      failure
    }
    ... on RouteSelectedEvent {
      nodeId
      routeId
      name
      reasoning
      fallbackUsed
    }
    ... on LoopIterationEvent {
      nodeId
      iteration
      maxIterations
    }
    ... on JobWarningEvent {
      code
      text
      nodeId
    }
    ... on JobCancelRequestedEvent {
      by
      reason
    }
    ... on JobFinishedEvent {
      status
      reason
      contentLength
      durationMs
      toolCalls
      rounds
      error {
        code
        message
      }
      usage {
        ...UsageFields
      }
    }
  }
}
    fragment ToolCallFields on ToolCallState {
  callId
  round
  name
  arguments
  proposedArguments
  status
  result
  error
}
fragment UsageFields on Usage {
  promptTokens
  completionTokens
  totalTokens
}`) as unknown as TypedDocumentString<JobEventsSubscription, JobEventsSubscriptionVariables>;
export const StartChatDocument = new TypedDocumentString(`
    mutation StartChat($input: StartChatInput!) {
  startChat(input: $input) {
    ...Started
  }
}
    fragment Started on StartJobPayload {
  jobId
  messageId
  threadId
  replayed
  status
  userErrors {
    ...Refusal
  }
}
fragment Refusal on UserError {
  code
  field
  message
  issues
}`) as unknown as TypedDocumentString<StartChatMutation, StartChatMutationVariables>;
export const StartWorkflowDocument = new TypedDocumentString(`
    mutation StartWorkflow($input: StartWorkflowInput!) {
  startWorkflow(input: $input) {
    ...Started
  }
}
    fragment Started on StartJobPayload {
  jobId
  messageId
  threadId
  replayed
  status
  userErrors {
    ...Refusal
  }
}
fragment Refusal on UserError {
  code
  field
  message
  issues
}`) as unknown as TypedDocumentString<StartWorkflowMutation, StartWorkflowMutationVariables>;
export const RetryJobDocument = new TypedDocumentString(`
    mutation RetryJob($input: RetryJobInput!) {
  retryJob(input: $input) {
    ...Started
  }
}
    fragment Started on StartJobPayload {
  jobId
  messageId
  threadId
  replayed
  status
  userErrors {
    ...Refusal
  }
}
fragment Refusal on UserError {
  code
  field
  message
  issues
}`) as unknown as TypedDocumentString<RetryJobMutation, RetryJobMutationVariables>;
export const CancelJobDocument = new TypedDocumentString(`
    mutation CancelJob($jobId: ID!) {
  cancelJob(input: {jobId: $jobId}) {
    state
    userErrors {
      ...Refusal
    }
  }
}
    fragment Refusal on UserError {
  code
  field
  message
  issues
}`) as unknown as TypedDocumentString<CancelJobMutation, CancelJobMutationVariables>;
export const JobStateDocument = new TypedDocumentString(`
    query JobState($id: ID!) {
  job(id: $id) {
    ...JobFields
  }
}
    fragment UsageFields on Usage {
  promptTokens
  completionTokens
  totalTokens
}
fragment JobFields on Job {
  id
  kind
  status
  reason
  model
  threadId
  messageId
  workflowId
  workflowVersion
  agent {
    id
    slug
    name
    version
  }
  createdAt
  startedAt
  finishedAt
  lastSeq
  inLine
  cancelRequested
  error {
    code
    message
  }
  usage {
    ...UsageFields
  }
}`) as unknown as TypedDocumentString<JobStateQuery, JobStateQueryVariables>;
export const JobResultDocument = new TypedDocumentString(`
    query JobResult($id: ID!) {
  job(id: $id) {
    ...JobFields
    content
    toolCalls {
      id
      callId
      name
      arguments
      proposedArguments
      status
      result
    }
  }
}
    fragment UsageFields on Usage {
  promptTokens
  completionTokens
  totalTokens
}
fragment JobFields on Job {
  id
  kind
  status
  reason
  model
  threadId
  messageId
  workflowId
  workflowVersion
  agent {
    id
    slug
    name
    version
  }
  createdAt
  startedAt
  finishedAt
  lastSeq
  inLine
  cancelRequested
  error {
    code
    message
  }
  usage {
    ...UsageFields
  }
}`) as unknown as TypedDocumentString<JobResultQuery, JobResultQueryVariables>;
export const SubJobsDocument = new TypedDocumentString(`
    query SubJobs($id: ID!) {
  job(id: $id) {
    subJobs {
      id
      status
    }
  }
}
    `) as unknown as TypedDocumentString<SubJobsQuery, SubJobsQueryVariables>;
export const JobsDocument = new TypedDocumentString(`
    query Jobs($filter: JobFilterInput, $first: Int, $after: String) {
  jobs(filter: $filter, first: $first, after: $after) {
    nodes {
      ...JobFields
    }
    pageInfo {
      hasNextPage
      endCursor
    }
  }
}
    fragment UsageFields on Usage {
  promptTokens
  completionTokens
  totalTokens
}
fragment JobFields on Job {
  id
  kind
  status
  reason
  model
  threadId
  messageId
  workflowId
  workflowVersion
  agent {
    id
    slug
    name
    version
  }
  createdAt
  startedAt
  finishedAt
  lastSeq
  inLine
  cancelRequested
  error {
    code
    message
  }
  usage {
    ...UsageFields
  }
}`) as unknown as TypedDocumentString<JobsQuery, JobsQueryVariables>;
export const NotificationsDocument = new TypedDocumentString(`
    query Notifications($filter: NotificationFilterInput, $first: Int, $after: String) {
  notifications(filter: $filter, first: $first, after: $after) {
    nodes {
      ...NotificationFields
    }
    pageInfo {
      hasNextPage
      endCursor
    }
  }
}
    fragment NotificationFields on Notification {
  id
  type
  title
  at
  read
  readAt
  jobId
  rootJobId
  threadId
  interruptId
}`) as unknown as TypedDocumentString<NotificationsQuery, NotificationsQueryVariables>;
export const UnreadNotificationCountDocument = new TypedDocumentString(`
    query UnreadNotificationCount {
  notifications(filter: {read: false}, first: 1) {
    totalCount
  }
}
    `) as unknown as TypedDocumentString<UnreadNotificationCountQuery, UnreadNotificationCountQueryVariables>;
export const NotificationActivityDocument = new TypedDocumentString(`
    subscription NotificationActivity($filter: NotificationFilterInput) {
  notificationActivity(filter: $filter) {
    ...NotificationFields
  }
}
    fragment NotificationFields on Notification {
  id
  type
  title
  at
  read
  readAt
  jobId
  rootJobId
  threadId
  interruptId
}`) as unknown as TypedDocumentString<NotificationActivitySubscription, NotificationActivitySubscriptionVariables>;
export const MarkNotificationReadDocument = new TypedDocumentString(`
    mutation MarkNotificationRead($id: ID!) {
  markNotificationRead(input: {id: $id}) {
    notification {
      ...NotificationFields
    }
    userErrors {
      ...Refusal
    }
  }
}
    fragment Refusal on UserError {
  code
  field
  message
  issues
}
fragment NotificationFields on Notification {
  id
  type
  title
  at
  read
  readAt
  jobId
  rootJobId
  threadId
  interruptId
}`) as unknown as TypedDocumentString<MarkNotificationReadMutation, MarkNotificationReadMutationVariables>;
export const MarkAllNotificationsReadDocument = new TypedDocumentString(`
    mutation MarkAllNotificationsRead($upTo: ID) {
  markAllNotificationsRead(input: {upTo: $upTo}) {
    marked
    userErrors {
      ...Refusal
    }
  }
}
    fragment Refusal on UserError {
  code
  field
  message
  issues
}`) as unknown as TypedDocumentString<MarkAllNotificationsReadMutation, MarkAllNotificationsReadMutationVariables>;
export const WorkflowsDocument = new TypedDocumentString(`
    query Workflows($first: Int, $after: String) {
  workflows(first: $first, after: $after) {
    nodes {
      ...WorkflowFields
    }
    pageInfo {
      hasNextPage
      endCursor
    }
  }
}
    fragment WorkflowFields on Workflow {
  id
  clientId
  name
  slug
  description
  draftVersion
  publishedVersion
  latestVersion
  updatedAt
}`) as unknown as TypedDocumentString<WorkflowsQuery, WorkflowsQueryVariables>;
export const WorkflowDocument = new TypedDocumentString(`
    query Workflow($id: ID!) {
  workflow(id: $id) {
    ...WorkflowFields
    draft
    issues {
      ...WorkflowIssueFields
    }
  }
}
    fragment WorkflowFields on Workflow {
  id
  clientId
  name
  slug
  description
  draftVersion
  publishedVersion
  latestVersion
  updatedAt
}
fragment WorkflowIssueFields on WorkflowIssue {
  type
  code
  message
  path
  nodeId
  edgeId
}`) as unknown as TypedDocumentString<WorkflowQuery, WorkflowQueryVariables>;
export const WorkflowDiagramDocument = new TypedDocumentString(`
    query WorkflowDiagram($id: ID!, $format: DiagramFormat!) {
  workflow(id: $id) {
    diagram(format: $format)
  }
}
    `) as unknown as TypedDocumentString<WorkflowDiagramQuery, WorkflowDiagramQueryVariables>;
export const JobDiagramDocument = new TypedDocumentString(`
    query JobDiagram($id: ID!, $format: DiagramFormat!) {
  job(id: $id) {
    diagram(format: $format)
  }
}
    `) as unknown as TypedDocumentString<JobDiagramQuery, JobDiagramQueryVariables>;
export const ValidateWorkflowDocument = new TypedDocumentString(`
    query ValidateWorkflow($definition: JSON!) {
  validateWorkflow(definition: $definition) {
    isValid
    errors {
      ...WorkflowIssueFields
    }
    warnings {
      ...WorkflowIssueFields
    }
  }
}
    fragment WorkflowIssueFields on WorkflowIssue {
  type
  code
  message
  path
  nodeId
  edgeId
}`) as unknown as TypedDocumentString<ValidateWorkflowQuery, ValidateWorkflowQueryVariables>;
export const ImportWorkflowDocument = new TypedDocumentString(`
    mutation ImportWorkflow($input: ImportWorkflowInput!) {
  importWorkflow(input: $input) {
    workflow {
      ...WorkflowFields
    }
    issues {
      ...WorkflowIssueFields
    }
    userErrors {
      ...Refusal
    }
  }
}
    fragment Refusal on UserError {
  code
  field
  message
  issues
}
fragment WorkflowFields on Workflow {
  id
  clientId
  name
  slug
  description
  draftVersion
  publishedVersion
  latestVersion
  updatedAt
}
fragment WorkflowIssueFields on WorkflowIssue {
  type
  code
  message
  path
  nodeId
  edgeId
}`) as unknown as TypedDocumentString<ImportWorkflowMutation, ImportWorkflowMutationVariables>;
export const PublishWorkflowDocument = new TypedDocumentString(`
    mutation PublishWorkflow($input: PublishWorkflowInput!) {
  publishWorkflow(input: $input) {
    version {
      number
      hash
    }
    issues {
      ...WorkflowIssueFields
    }
    userErrors {
      ...Refusal
    }
  }
}
    fragment Refusal on UserError {
  code
  field
  message
  issues
}
fragment WorkflowIssueFields on WorkflowIssue {
  type
  code
  message
  path
  nodeId
  edgeId
}`) as unknown as TypedDocumentString<PublishWorkflowMutation, PublishWorkflowMutationVariables>;
export const MeDocument = new TypedDocumentString(`
    query Me {
  me {
    id
    workspaceId
    role
    scopes
    memberships {
      workspaceId
      role
    }
  }
}
    `) as unknown as TypedDocumentString<MeQuery, MeQueryVariables>;
export const ToolsDocument = new TypedDocumentString(`
    query Tools {
  tools {
    name
    description
    effect
    runtime
    sort
    timeoutMs
    version
    parameters
  }
}
    `) as unknown as TypedDocumentString<ToolsQuery, ToolsQueryVariables>;
export const TestToolDocument = new TypedDocumentString(`
    mutation TestTool($input: TestToolInput!) {
  testTool(input: $input) {
    trial {
      durationMs
      status
      result
      error
      excerpt
      hint
    }
    userErrors {
      ...Refusal
    }
  }
}
    fragment Refusal on UserError {
  code
  field
  message
  issues
}`) as unknown as TypedDocumentString<TestToolMutation, TestToolMutationVariables>;
export const ThreadsDocument = new TypedDocumentString(`
    query Threads($filter: ThreadFilterInput, $first: Int, $after: String) {
  threads(filter: $filter, first: $first, after: $after) {
    nodes {
      id
      clientId
      title
      createdAt
      updatedAt
    }
    pageInfo {
      hasNextPage
      endCursor
    }
  }
}
    `) as unknown as TypedDocumentString<ThreadsQuery, ThreadsQueryVariables>;
export const MessagesDocument = new TypedDocumentString(`
    query Messages($threadId: ID!, $first: Int, $after: String) {
  messages(threadId: $threadId, first: $first, after: $after) {
    nodes {
      id
      clientId
      role
      content
      jobId
      position
      createdAt
    }
    pageInfo {
      hasNextPage
      endCursor
    }
  }
}
    `) as unknown as TypedDocumentString<MessagesQuery, MessagesQueryVariables>;
export const WorkspaceActivityDocument = new TypedDocumentString(`
    subscription WorkspaceActivity {
  workspaceActivity {
    jobId
    status
    lastSeq
  }
}
    `) as unknown as TypedDocumentString<WorkspaceActivitySubscription, WorkspaceActivitySubscriptionVariables>;