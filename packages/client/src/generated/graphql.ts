/* eslint-disable */
/** Internal type. DO NOT USE DIRECTLY. */
type Exact<T extends { [key: string]: unknown }> = { [K in keyof T]: T[K] };
/** Internal type. DO NOT USE DIRECTLY. */
export type Incremental<T> = T | { [P in keyof T]?: P extends ' $fragmentName' | '__typename' ? T[P] : never };
import type { DocumentTypeDecoration } from '../typed-document.js';
/** Limits of an agent. `modelRetryForMs` and `onProviderDown` replace the settings of the installation; the others can only tighten its limits. Absent: the value of the installation. */
export type AgentLimitsInput = {
  /** Maximum UTF-8 bytes of text and reasoning of one job. */
  readonly maxOutputBytes?: number | null | undefined;
  /** Maximum number of rounds of a job. The last round has no tools. */
  readonly maxRounds?: number | null | undefined;
  /** Maximum number of tool calls in one round. */
  readonly maxToolCallsPerRound?: number | null | undefined;
  /** For how long, in ms, failed model requests are retried with a backoff of at most about one minute: 0 to 604,800,000. After that, the backoff grows to at most ten minutes, until a request succeeds or the job fails. */
  readonly modelRetryForMs?: number | null | undefined;
  /** What its jobs do while the model provider is down. */
  readonly onProviderDown?: ProviderDownAction | null | undefined;
  /** Maximum duration of one model response, in ms. */
  readonly roundTimeoutMs?: number | null | undefined;
};

/** The agent to use: a given one, or the best fit. Set exactly one of the two fields. */
export type AgentSelectionInput = {
  /** True: a model chooses the agent by the descriptions. */
  readonly auto?: boolean | null | undefined;
  /** An agent: id, slug or name. */
  readonly id?: string | null | undefined;
};

/** One message of a conversation, in OpenAI's format. */
export type ChatMessageInput = {
  /** Files of a `user` message, after its content. At most 20. */
  readonly attachments?: ReadonlyArray<FileAttachmentInput> | null | undefined;
  /** Text, or an array of pieces (`{"type":"text","text":"…"}`, `image_url` …). */
  readonly content?: unknown;
  /** Name of the speaker, if there are several. */
  readonly name?: string | null | undefined;
  /** `system`, `user`, `assistant` or `tool`. */
  readonly role: string;
  /** For a `tool` message: the id of its call. */
  readonly toolCallId?: string | null | undefined;
  /** Tool calls of an assistant message, in OpenAI's format. */
  readonly toolCalls?: unknown;
};

/** The call to claim and the device that claims it. */
export type ClaimClientToolInput = {
  /** The call id that the model and the request use. */
  readonly callId: string;
  /** The id of this device, 1 to 256 characters. Generate it once and keep it. */
  readonly deviceId: string;
  /** The job. The caller must have started it. */
  readonly jobId: string;
};

/** A tool that the client runs: it claims calls and submits results from any connection. */
export type ClientToolInput = {
  /** What the model reads about it. */
  readonly description?: string | null | undefined;
  /** The effect of running it twice. Absent: ONCE. If a client disappears after it started, only PURE and IDEMPOTENT calls go to another client. */
  readonly effect?: ToolEffect | null | undefined;
  /** 1 to 64 of letters, digits, `_`, `-` and `.`; unique among the tools of this request. */
  readonly name: string;
  /** What happens to a call that no client runs in time. Absent: WAIT. */
  readonly onTimeout?: OnClientTimeout | null | undefined;
  /** JSON Schema (2020-12) of its arguments, an object. Absent: no arguments. */
  readonly parameters?: unknown;
  /** How long a call waits for a client, in ms: 1,000 to 604,800,000. Absent: 24 hours. With `onTimeout: WAIT`, a value below 24 hours has no effect. */
  readonly timeoutMs?: number | null | undefined;
};

/** The agent to create. */
export type CreateAgentInput = {
  /** What it is for, at most 1,000 characters. `auto` chooses an agent by this text. */
  readonly description?: string | null | undefined;
  /** Tools of the server that the client runs in place of the server: names or globs. They take precedence over `tools`. */
  readonly externalTools?: ReadonlyArray<string> | null | undefined;
  /** Its system prompt, at most 100,000 characters. */
  readonly instructions?: string | null | undefined;
  /** All of its limits. */
  readonly limits?: AgentLimitsInput | null | undefined;
  /** Maximum number of jobs of the agent that run at once, counted over all its versions. Null: no cap of its own; the caps of the workspace and the user still apply. */
  readonly maxRunningJobs?: number | null | undefined;
  /** The model. Null: the model of the request, else the default of the provider. */
  readonly model?: string | null | undefined;
  /** Its name, 1 to 100 characters, unique in the workspace. */
  readonly name: string;
  /** Sampling fields with OpenAI's names, such as `{"temperature":0.2}`. They override those of a request. */
  readonly parameters?: unknown;
  /** Its readable id, unique in the workspace: 1 to 64 of a-z, 0-9, `.`, `_`, `-`. Absent: derived from `name`. */
  readonly slug?: string | null | undefined;
  /** Its layer of the approval policy, in the format of the workspace's policy. It can only tighten. Null: none. */
  readonly toolApproval?: unknown;
  /** How `/v1` shows calls of server tools to clients without `X-Tool-Event-Format`. Null: INLINE. */
  readonly toolEventFormat?: ToolEventFormat | null | undefined;
  /** Server tools that it may call: names, or globs with `*`, `?`. */
  readonly tools?: ReadonlyArray<string> | null | undefined;
  /** If the workspace already has an agent with this slug (or with this name, if `slug` is absent), updates that agent. Absent fields do not change. */
  readonly upsert?: boolean;
};

/** A new API key that acts as you. */
export type CreateApiKeyInput = {
  /** When it expires. Absent: never. */
  readonly expiresAt?: string | null | undefined;
  /** Its name, 1 to 200 characters. */
  readonly name: string;
  /** What it may be used for. Never more than the caller may do. */
  readonly scopes: ReadonlyArray<KeyScope>;
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
  /** Owners and admins. */
  | 'APPROVERS'
  /** The requester, owners and admins. */
  | 'MEMBERS'
  /** The person who started the job, or the approvers if no person did. */
  | 'REQUESTER';

/** The format of a workflow diagram. */
export type DiagramFormat =
  /** The text of a Mermaid flowchart. */
  | 'MERMAID'
  /** An SVG document without scripts and links. */
  | 'SVG';

/** A file of the workspace, attached to a message. `POST /api/files` uploads it. */
export type FileAttachmentInput = {
  /** The hash that the upload returned. */
  readonly hash: string;
  /** The media type that the upload returned. */
  readonly mime: string;
  /** Its name, for the model. Absent: the name of the upload. */
  readonly name?: string | null | undefined;
};

/** Compares an id. */
export type IdFilter = {
  /** Equals this id. */
  readonly eq: string;
};

/** A workflow document of another system. */
export type ImportWorkflowInput = {
  /** The document (docs/workflow-definitions.md): an object, or its JSON text, which is kept byte for byte. At most 1 MiB. */
  readonly definition: unknown;
  /** The `draftVersion` that the change is based on. If another save came first, the change is refused (`workflow_changed`). Absent: the change overwrites the draft. */
  readonly expectedVersion?: number | null | undefined;
};

/** The action on a HUMAN_INPUT request. `request.actions` lists the allowed ones. SUBMIT delivers the event of a WAIT. */
export type InterruptAction =
  /** Continues. `data`, if given, replaces the input. */
  | 'APPROVE'
  /** One of the request's own options, in `data`. */
  | 'CUSTOM'
  /** Continues with `data` instead of the shown value, or with the shown value if `data` is absent. */
  | 'MODIFY'
  /** Rejects the request. */
  | 'REJECT'
  /** Skips the question. Not allowed if `request.dataRequired` is true. */
  | 'SKIP'
  /** Answers with `data`. */
  | 'SUBMIT';

/** The decision: APPROVE or DENY for a TOOL_APPROVAL, RETRY or GIVE_UP for a PROVIDER_UNAVAILABLE or PLUGIN_MISSING, the others for an UNKNOWN_OUTCOME. */
export type InterruptDecision =
  /** The call runs, with the arguments that were shown or with edited ones. */
  | 'APPROVE'
  /** The call does not run. The model reads the denial. */
  | 'DENY'
  /** The call did not run. The job continues without its result. */
  | 'DID_NOT_HAPPEN'
  /** PROVIDER_UNAVAILABLE: the job fails with the last error of the provider. PLUGIN_MISSING: the node fails. */
  | 'GIVE_UP'
  /** The call did run, with this `result`. */
  | 'HAPPENED'
  /** The call is repeated with the same idempotency key. */
  | 'REPEAT'
  /** The model reads that the outcome is unknown. */
  | 'REPORT'
  /** PROVIDER_UNAVAILABLE: the job calls the provider now. PLUGIN_MISSING: the job looks for the plugin now. */
  | 'RETRY';

/** Filters for requests. All given fields must match. */
export type InterruptFilterInput = {
  /** By who may decide: `MINE` for the caller, or the id of a user for the requests of jobs that this user started. */
  readonly assignee?: IdFilter | null | undefined;
  /** By the time of opening. */
  readonly createdAt?: DateTimeFilter | null | undefined;
  /** By the job that waits. */
  readonly jobId?: IdFilter | null | undefined;
  /** By kind. */
  readonly kind?: InterruptKindFilter | null | undefined;
  /** By root job: its requests and those of its sub-jobs. For a sub-job: only its own requests. */
  readonly rootJobId?: IdFilter | null | undefined;
  /** By status. */
  readonly status?: InterruptStatusFilter | null | undefined;
  /** By thread (server id). */
  readonly threadId?: IdFilter | null | undefined;
  /** By the tool of the call. */
  readonly tool?: ToolNameFilter | null | undefined;
};

/** The kinds of requests that a job can wait for. The list may grow. */
export type InterruptKind =
  /** A client has to run a tool call. */
  | 'CLIENT_TOOL'
  /** A person has to answer a question. */
  | 'HUMAN_INPUT'
  /** No plugin of the worker defines the type of a workflow node. The job looks again when the request expires, or after a decision. */
  | 'PLUGIN_MISSING'
  /** The model provider cannot be used. The job asks it again when the request expires, or after a decision. */
  | 'PROVIDER_UNAVAILABLE'
  /** A person has to allow a tool call. */
  | 'TOOL_APPROVAL'
  /** A tool call started and its outcome is unknown. A person has to decide. */
  | 'UNKNOWN_OUTCOME'
  /** A workflow node waits for a time or an event. No person has to decide. */
  | 'WAIT';

/** Compares the kind of a request. */
export type InterruptKindFilter = {
  /** Equals this kind. */
  readonly eq?: InterruptKind | null | undefined;
  /** Is one of these. */
  readonly in?: ReadonlyArray<InterruptKind> | null | undefined;
};

/** The status of a request. All but OPEN are final. */
export type InterruptStatus =
  /** Its job or node ended first. */
  | 'CANCELLED'
  /** Nothing settled it in time. */
  | 'EXPIRED'
  /** It waits for a decision, a result, a time or an event. */
  | 'OPEN'
  /** A decision or a result settled it. */
  | 'RESOLVED';

/** Compares the status of a request. */
export type InterruptStatusFilter = {
  /** Equals this status. */
  readonly eq?: InterruptStatus | null | undefined;
  /** Is one of these. */
  readonly in?: ReadonlyArray<InterruptStatus> | null | undefined;
};

/** Filters for jobs. All given fields must match. */
export type JobFilterInput = {
  /** By the time of acceptance. */
  readonly createdAt?: DateTimeFilter | null | undefined;
  /** By the user who started it. */
  readonly createdBy?: IdFilter | null | undefined;
  /** By kind. */
  readonly kind?: JobKindFilter | null | undefined;
  /** Labels that a job must have, with these values: `{"team":"billing"}`. */
  readonly labels?: unknown;
  /** By status. */
  readonly status?: JobStatusFilter | null | undefined;
  /** By thread (server id). */
  readonly threadId?: IdFilter | null | undefined;
  /** By workflow (server id). */
  readonly workflowId?: IdFilter | null | undefined;
};

/** What a job does. The list may grow. */
export type JobKind =
  /** A model conversation in a thread, with tools. */
  | 'CHAT'
  /** Runs an agent workflow. */
  | 'WORKFLOW';

/** Compares a kind. */
export type JobKindFilter = {
  /** Equals this kind. */
  readonly eq?: JobKind | null | undefined;
  /** Is one of these. */
  readonly in?: ReadonlyArray<JobKind> | null | undefined;
};

/** The status of a job. COMPLETED, FAILED and CANCELLED are final. The list may grow. */
export type JobStatus =
  /** It was cancelled. */
  | 'CANCELLED'
  /** It ended successfully. */
  | 'COMPLETED'
  /** It ended with an error. */
  | 'FAILED'
  /** Accepted and not yet claimed by a worker. */
  | 'QUEUED'
  /** A worker runs it. */
  | 'RUNNING'
  /** It waits for a decision, a result, a time or an event, and occupies no worker. */
  | 'WAITING';

/** Compares a status. */
export type JobStatusFilter = {
  /** Equals this status. */
  readonly eq?: JobStatus | null | undefined;
  /** Is one of these. */
  readonly in?: ReadonlyArray<JobStatus> | null | undefined;
};

/** What an API key may be used for. A scope only narrows the role of the user; no scope implies another. */
export type KeyScope =
  /** Administration of the workspace. */
  | 'ADMIN'
  /** Deciding requests. */
  | 'APPROVE'
  /** Reading. */
  | 'READ'
  /** Starting and changing jobs, threads and workflow drafts. */
  | 'WRITE';

/** Tools to accept with their listed definitions. */
export type McpAcceptanceInput = {
  /** Accepts every listed tool that can be offered. */
  readonly all?: boolean | null | undefined;
  /** Names of the tools, as the server lists them. */
  readonly names?: ReadonlyArray<string> | null | undefined;
};

/** How the tools of a server are called. */
export type McpCallsInput = {
  /** The declared effect of repeating a call of any tool of the server. It replaces the effect given by the tool hints only if it is stricter, or if `trusted` is true. */
  readonly effect?: ToolEffect | null | undefined;
  /** Declared effects of single tools. They take precedence over `effect`. The list replaces the stored list. */
  readonly effects?: ReadonlyArray<McpToolEffectInput> | null | undefined;
  /** Whether calls run in the tool queue, so that jobs do not occupy a worker slot meanwhile. */
  readonly isolated?: boolean | null | undefined;
  /** The timeout of a call, in ms. Null: the default of the installation. */
  readonly timeoutMs?: number | null | undefined;
  /** Whether `effect` and `effects` may be weaker than the tools' own hints. Set it only for servers that you trust. */
  readonly trusted?: boolean | null | undefined;
};

/** A server over streamable HTTP. */
export type McpHttpInput = {
  /** Headers of each request. */
  readonly headers?: ReadonlyArray<McpSettingInput> | null | undefined;
  /** Its http(s) URL, without user name and password. */
  readonly url: string;
};

/** A header that Nightshift sends to an MCP server, or an environment variable that it sets for its process. */
export type McpSettingInput = {
  /** Its name. */
  readonly name: string;
  /** Its value. Credentials only as secrets of the workspace: `{{secret:NAME}}`. */
  readonly value: string;
};

/** An MCP server that Nightshift runs as a process. Only if the operator allows it. */
export type McpStdioInput = {
  /** Its arguments. */
  readonly args?: ReadonlyArray<string> | null | undefined;
  /** The command to run; no shell is involved. */
  readonly command: string;
  /** Its variables, besides PATH, HOME and the like. */
  readonly env?: ReadonlyArray<McpSettingInput> | null | undefined;
};

/** The declared effect of repeating a call of one tool. */
export type McpToolEffectInput = {
  /** The effect. */
  readonly effect: ToolEffect;
  /** The server's name for the tool. */
  readonly tool: string;
};

/** What a member may do in a workspace. */
export type MemberRole =
  /** Administers the workspace, but cannot change owners. */
  | 'ADMIN'
  /** Starts jobs and changes their own. */
  | 'MEMBER'
  /** Everything. */
  | 'OWNER'
  /** Reads. */
  | 'VIEWER';

/** What happens to scheduled times that were missed by a minute or more. */
export type MissedSlots =
  /** Each of the last 24 missed scheduled times starts a job. */
  | 'ALL'
  /** The latest missed scheduled time starts one job. */
  | 'ONCE'
  /** Missed scheduled times start no job. */
  | 'SKIP';

/** The status of a node run. The list may grow. */
export type NodeRunStatus =
  /** It runs. */
  | 'ACTIVE'
  /** It was cancelled. */
  | 'CANCELLED'
  /** It has an output. */
  | 'COMPLETED'
  /** It failed. */
  | 'ERROR'
  /** Not started. */
  | 'PENDING'
  /** No edge to it was taken, or the job ended first. */
  | 'SKIPPED'
  /** It waits for a decision, a result, a time or an event. */
  | 'WAITING';

/** Filters for notifications. All given fields must match. */
export type NotificationFilterInput = {
  /** True: only read ones. False: only unread ones. */
  readonly read?: boolean | null | undefined;
  /** By type. */
  readonly type?: NotificationTypeFilter | null | undefined;
};

/** The type of a notification. The list may grow. */
export type NotificationType =
  /** The server disabled a webhook endpoint. For owners and admins. */
  | 'ENDPOINT_DISABLED'
  /** A job, or a sub-job of it, waits for a person. */
  | 'INPUT_NEEDED'
  /** A job completed. */
  | 'JOB_COMPLETED'
  /** A job failed. */
  | 'JOB_FAILED';

/** Compares the type of a notification. */
export type NotificationTypeFilter = {
  /** Equals this type. */
  readonly eq?: NotificationType | null | undefined;
  /** Is one of these. */
  readonly in?: ReadonlyArray<NotificationType> | null | undefined;
};

/** What happens to a call that no client runs before its timeout. */
export type OnClientTimeout =
  /** The job fails with `client_tool_timeout`. */
  | 'FAIL'
  /** The call is SKIPPED and the job continues without its result. */
  | 'SKIP'
  /** The call waits for 24 hours, or for its own timeout if that is longer. Then it is TIMED_OUT. */
  | 'WAIT';

/** What a job does while its model provider is down. */
export type ProviderDownAction =
  /** After short retries it fails with the last error of the provider. */
  | 'FAIL'
  /** It is WAITING and asks the provider again from time to time, for 24 hours by default. */
  | 'WAIT';

/** A draft to publish. */
export type PublishWorkflowInput = {
  /** The `draftVersion` that you reviewed. If the draft was saved since then, nothing is published (`workflow_changed`). Absent: the current draft is published. */
  readonly expectedVersion?: number | null | undefined;
  /** The workflow. */
  readonly id: string;
};

/** The MCP server to register. Set exactly one of `http` and `stdio`. */
export type RegisterMcpServerInput = {
  /** Tools to accept at once without review. Absent: none; review them, then call `acceptMcpTools`. */
  readonly accept?: McpAcceptanceInput | null | undefined;
  /** How its tools are called. */
  readonly calls?: McpCallsInput | null | undefined;
  /** Whether its accepted tools are offered; true by default. */
  readonly enabled?: boolean | null | undefined;
  /** Its address over HTTP. */
  readonly http?: McpHttpInput | null | undefined;
  /** Its name, unique in the workspace: 1 to 32 of a-z, 0-9, `_` and `-`. Its tools' names begin with it. */
  readonly name: string;
  /** The process to run. */
  readonly stdio?: McpStdioInput | null | undefined;
  /** If the workspace already has a server with this name, updates that server. Absent fields and the transport do not change. */
  readonly upsert?: boolean;
};

/** A tool to register. */
export type RegisterToolInput = {
  /** Its definition (docs/tools.md). */
  readonly definition: unknown;
  /** Replaces the definition of the tool with this name if there is one. An equal definition creates no version. */
  readonly upsert?: boolean;
};

/** A decision on one request. The kind of the request determines the allowed fields. */
export type ResolveInterruptInput = {
  /** HUMAN_INPUT: the action. WAIT: SUBMIT. */
  readonly action?: InterruptAction | null | undefined;
  /** TOOL_APPROVAL: an object that replaces all arguments. Absent: the arguments as shown. */
  readonly arguments?: unknown;
  /** TOOL_APPROVAL: the `request.argumentsHash` that was shown. The approval is valid for these arguments only. */
  readonly argumentsHash?: string | null | undefined;
  /** HUMAN_INPUT: the submitted data, valid against `request.inputSchema`. WAIT: the payload of the event. */
  readonly data?: unknown;
  /** The decision, for every kind except HUMAN_INPUT and WAIT. */
  readonly decision?: InterruptDecision | null | undefined;
  /** TOOL_APPROVAL: for 5, 10 or 30 minutes this operation needs no further approval in this thread. */
  readonly grantMinutes?: number | null | undefined;
  /** The request. */
  readonly id: string;
  /** The reason, at most 500 characters. The model may read it. */
  readonly reason?: string | null | undefined;
  /** UNKNOWN_OUTCOME with HAPPENED: the result of the call, text or JSON of at most 256 KiB. */
  readonly result?: unknown;
};

/** The job to retry. */
export type RetryJobInput = {
  /** Makes the retry idempotent: the same key returns the same new job. */
  readonly idempotencyKey?: string | null | undefined;
  /** A failed or cancelled job. */
  readonly jobId: string;
};

/** The new policy. */
export type SaveApprovalPolicyInput = {
  /** The version that the change is based on. If it is no longer current, nothing is saved. */
  readonly expectedVersion?: number | null | undefined;
  /** `{default, timeoutDays, expireAction, decidableBy, fourEyes, rules}`. Absent fields get their defaults. */
  readonly policy: unknown;
};

/** A schedule of a chat to save. */
export type SaveChatScheduleInput = {
  /** The agent: a given one, or the best fit. Its tools are offered and limit `tools`. */
  readonly agent?: AgentSelectionInput | null | undefined;
  /** Minute, hour, day of month, month, day of week, as in crontab(5): `30 7 * * MON-FRI`. */
  readonly cron: string;
  /** Whether it starts jobs. */
  readonly enabled?: boolean;
  /** The schedule. Absent: the one with `name`, or a new one. */
  readonly id?: string | null | undefined;
  /** The user message of each job. Set either this or `messages`. */
  readonly message?: string | null | undefined;
  /** Several messages, which each job adds to its thread. Set either this or `message`. */
  readonly messages?: ReadonlyArray<ChatMessageInput> | null | undefined;
  /** What happens to missed scheduled times. */
  readonly missed?: MissedSlots;
  /** The model, unless the agent has one. Absent: the default of the provider. */
  readonly model?: string | null | undefined;
  /** Its name, 1 to 100 characters, unique in the workspace. Without `id`, a repeated save replaces the schedule with this name. Absent: the name stays. Null: none. */
  readonly name?: string | null | undefined;
  /** The thread: server id, or the client's own id, which creates a thread if it is new. Absent: a new thread for each job. */
  readonly threadId?: string | null | undefined;
  /** Its time zone, a name of the time zone database such as `Europe/Berlin`. */
  readonly timeZone?: string;
  /** Names of the tools that the model may call. Absent: none. */
  readonly tools?: ReadonlyArray<string> | null | undefined;
};

/** A connection to save. An absent field gets its default. */
export type SaveSyntrixConnectionInput = {
  /** The routes of its API. Default: `V1`. */
  readonly apiStyle?: SyntrixApiStyle | null | undefined;
  /** Which token requests to it have. Default: `NONE`. */
  readonly auth?: SyntrixAuth | null | undefined;
  /** The URL of the server of the database. Default: `http://localhost:8080`. */
  readonly baseUrl?: string | null | undefined;
  /** The name of the database on that server. Default: `default`. */
  readonly database?: string | null | undefined;
  /** After more tool calls than this, the model answers without tools. Default: 5. */
  readonly maxToolCalls?: number | null | undefined;
  /** Which tool calls `maxToolCalls` counts. Default: `HISTORY`. */
  readonly maxToolCallsScope?: SyntrixToolCallScope | null | undefined;
  /** The model that answers. Default: the default model of the workspace. */
  readonly model?: string | null | undefined;
  /** Its name: at most 128 letters, digits, `_` and `-`. A connection with this name is replaced. Other workspaces may use it too: send deliveries to the id then. */
  readonly name: string;
  /** The number of deliveries that may start a job in a second. Default: no limit. */
  readonly rateLimit?: number | null | undefined;
  /** The name of the workspace secret that signs its deliveries. */
  readonly secret?: string | null | undefined;
  /** The first message of each model request, at most 20,000 characters. */
  readonly systemPrompt?: string | null | undefined;
  /** The name of the workspace secret that is its token. */
  readonly token?: string | null | undefined;
  /** The collection of tool calls in a chat. Default: `toolcall`. */
  readonly toolCollection?: string | null | undefined;
  /** The names of the tools that its chats may use. Default: none. */
  readonly tools?: ReadonlyArray<string> | null | undefined;
};

/** A trigger to save. */
export type SaveTriggerInput = {
  /** The fields of docs/triggers.md. A trigger with the same `database` and `triggerId` is replaced. */
  readonly definition: unknown;
  /** Whether it is enabled. A disabled trigger ignores changes and refuses requests with 401. */
  readonly enabled?: boolean;
};

/** A draft to save. */
export type SaveWorkflowInput = {
  /** The document (docs/workflow-definitions.md): an object, or its JSON text, which is kept byte for byte. At most 1 MiB. */
  readonly definition: unknown;
  /** The `draftVersion` that the change is based on. If another save came first, the change is refused (`workflow_changed`). Absent: the change overwrites the draft. */
  readonly expectedVersion?: number | null | undefined;
  /** The workflow. Absent: a new one. */
  readonly id?: string | null | undefined;
};

/** A schedule to save. */
export type SaveWorkflowScheduleInput = {
  /** Minute, hour, day of month, month, day of week, as in crontab(5): `30 7 * * MON-FRI`. */
  readonly cron: string;
  /** Whether it starts jobs. */
  readonly enabled?: boolean;
  /** The schedule. Absent: the one with `name`, or a new one. */
  readonly id?: string | null | undefined;
  /** What happens to missed scheduled times. */
  readonly missed?: MissedSlots;
  /** Its name, 1 to 100 characters, unique in the workspace. Without `id`, a repeated save replaces the schedule with this name. Absent: the name stays. Null: none. */
  readonly name?: string | null | undefined;
  /** The prompt of its jobs, 1 to 12,000 characters. */
  readonly prompt: string;
  /** Its time zone, a name of the time zone database such as `Europe/Berlin`. */
  readonly timeZone?: string;
  /** The workflow: server id, or the id of its document. It cannot be changed. */
  readonly workflowId: string;
};

/** The conversation, the thread, and the options of a chat job. */
export type StartChatInput = {
  /** The agent: a given one, or the best fit. Its tools are offered and limit `tools`. */
  readonly agent?: AgentSelectionInput | null | undefined;
  /** Files of `message`. At most 20. */
  readonly attachments?: ReadonlyArray<FileAttachmentInput> | null | undefined;
  /** Binds the client tools to one device: only claims with this `deviceId` are accepted. 1 to 256 characters. */
  readonly clientDeviceId?: string | null | undefined;
  /** The client's id for the assistant message of the job. */
  readonly clientMessageId?: string | null | undefined;
  /** Tools that clients run. Any client of the requester may claim their calls. */
  readonly clientTools?: ReadonlyArray<ClientToolInput> | null | undefined;
  /** Makes the start idempotent: the same key and input return the same job. 1 to 255 visible ASCII characters. */
  readonly idempotencyKey?: string | null | undefined;
  /** Key-value pairs of text, for filters and hooks: `{"team":"billing"}`. At most 16; keys of 1 to 64 and values of at most 512 characters. */
  readonly labels?: unknown;
  /** The user message. Set either this or `messages`. */
  readonly message?: string | null | undefined;
  /** Several messages, which are added to the thread. Set either this or `message`. */
  readonly messages?: ReadonlyArray<ChatMessageInput> | null | undefined;
  /** The model, unless the agent has one. Absent: the default of the provider. */
  readonly model?: string | null | undefined;
  /** For how long, in ms, failed model requests are retried with a backoff of at most about one minute: 0 to 604,800,000. After that, the backoff grows to at most ten minutes, until a request succeeds or the job fails. Absent: the setting of the agent, else of the installation. */
  readonly modelRetryForMs?: number | null | undefined;
  /** What the job does while its model provider is down. Absent: the setting of the agent, else of the installation. */
  readonly onProviderDown?: ProviderDownAction | null | undefined;
  /** Sampling fields, as OpenAI names them: `{"temperature":0.2}`. */
  readonly parameters?: unknown;
  /** A provider key for this job only, stored encrypted and deleted when the job ends. */
  readonly providerKey?: string | null | undefined;
  /** When the job begins, at most 366 days ahead; the job is accepted immediately. If its thread is busy at that instant, the job is queued behind the active job. Absent or past: the job begins at once. */
  readonly startAt?: string | null | undefined;
  /** The thread: server id, or the client's own id, which creates a thread if it is new. Absent: a new thread. */
  readonly threadId?: string | null | undefined;
  /** Approval rules of this request alone, in the shape of the workspace's policy: `{"rules":[{"match":"send_*","action":"require_approval"}]}`. They can only tighten it. */
  readonly toolApproval?: unknown;
  /** `"auto"`, `"none"`, `"required"` or `{"type":"function","function":{"name":"…"}}`, for the first round. */
  readonly toolChoice?: unknown;
  /** Names of the tools that the model may call. Absent: none. */
  readonly tools?: ReadonlyArray<string> | null | undefined;
  /** What to do when a job is active in the thread. Absent: the setting of the thread or workspace. */
  readonly whenBusy?: WhenBusy | null | undefined;
};

/** The workflow, its input, and its thread. */
export type StartWorkflowInput = {
  /** The attached files, at most 20. */
  readonly attachments?: ReadonlyArray<WorkflowAttachmentInput> | null | undefined;
  /** The client's id for the assistant message of the job. */
  readonly clientMessageId?: string | null | undefined;
  /** The conversation before the prompt: a list of `{"role":"user","content":"…"}`. At most 200 entries of 8,000 characters. */
  readonly history?: unknown;
  /** Makes the start idempotent: the same key and input return the same job. 1 to 255 visible ASCII characters. */
  readonly idempotencyKey?: string | null | undefined;
  /** Key-value pairs of text, for filters and hooks: `{"team":"billing"}`. At most 16; keys of 1 to 64 and values of at most 512 characters. */
  readonly labels?: unknown;
  /** For how long, in ms, failed model requests are retried with a backoff of at most about one minute: 0 to 604,800,000. After that, the backoff grows to at most ten minutes, until a request succeeds or the job fails. Absent: the setting of each agent, else of the installation. */
  readonly modelRetryForMs?: number | null | undefined;
  /** What the job does while its model provider is down. Absent: the setting of each agent, else of the installation. */
  readonly onProviderDown?: ProviderDownAction | null | undefined;
  /** The input of the start node, at most 12,000 characters. */
  readonly prompt: string;
  /** A provider key for this job only, stored encrypted and deleted when the job ends. */
  readonly providerKey?: string | null | undefined;
  /** When the job begins, at most 366 days ahead; the job is accepted immediately and runs the version that is published now. Absent or past: the job begins at once. */
  readonly startAt?: string | null | undefined;
  /** The thread that shows the job: server id, or the client's own id, which creates a thread if it is new. Absent: none. */
  readonly threadId?: string | null | undefined;
  /** A version number. Absent: the currently published version. */
  readonly version?: number | null | undefined;
  /** What to do when a job is active in the thread. Absent: the setting of the thread or workspace. */
  readonly whenBusy?: WhenBusy | null | undefined;
  /** The workflow: server id, or the id of its document. */
  readonly workflowId: string;
};

/** The result of a cancellation. */
export type StopState =
  /** The job is cancelled. */
  | 'ABORTED'
  /** The job had already completed or failed. */
  | 'ALREADY_TERMINAL'
  /** The worker was notified and has not ended the job yet. The job will end as CANCELLED. */
  | 'CANCEL_REQUESTED';

/** The outcome of a call: either `result` or `error`. */
export type SubmitClientToolResultInput = {
  /** The call. */
  readonly callId: string;
  /** The claim on it. */
  readonly claimToken: string;
  /** Why it failed; the model reads the first 1,000 characters. */
  readonly error?: string | null | undefined;
  /** The job. */
  readonly jobId: string;
  /** The result of the tool: text or JSON, at most 262,144 bytes. */
  readonly result?: string | null | undefined;
};

/** The routes of a Syntrix database. */
export type SyntrixApiStyle =
  /** `/api/v1/databases/{database}/documents/{path}`. */
  | 'DATABASES'
  /** `/api/v1/{path}`. */
  | 'V1';

/** Which token requests to a Syntrix database have. `preIssuedToken` is a token that the database sends with a delivery. */
export type SyntrixAuth =
  /** The `preIssuedToken` of the delivery; without one, no token. */
  | 'NONE'
  /** The workspace secret that `token` names; if `token` is absent, the `preIssuedToken` of the delivery. In both cases, a delivery without `preIssuedToken` is refused. */
  | 'PREISSUED'
  /** The workspace secret that `token` of the connection names. */
  | 'TOKEN';

/** Which tool calls of a chat count against its limit. */
export type SyntrixToolCallScope =
  /** All tool calls of the chat. */
  | 'HISTORY'
  /** The tool calls after the last message of the user. */
  | 'TURN';

/** The tool to test: a stored one by `id`, or a `definition` that is not stored. */
export type TestToolInput = {
  /** The arguments, an object; absent: none. */
  readonly arguments?: unknown;
  /** A definition (docs/tools.md). Cannot be combined with `id`. */
  readonly definition?: unknown;
  /** A tool of the workspace, also a disabled one. */
  readonly id?: string | null | undefined;
};

/** Filters for threads. All given fields must match. */
export type ThreadFilterInput = {
  /** Created by this user. */
  readonly createdBy?: string | null | undefined;
};

/** The status of a tool call. The list may grow. */
export type ToolCallStatus =
  /** It waits for an approval. */
  | 'AWAITING_APPROVAL'
  /** It waits for a client to run it. */
  | 'AWAITING_CLIENT'
  /** It was cancelled. A call of effect ONCE has not had its effect; a PURE or IDEMPOTENT call may have run. */
  | 'CANCELLED'
  /** It has a result. */
  | 'COMPLETED'
  /** It was not allowed: by a person, the approval policy or a hook, because its approval request expired, or because the tool changed. The model reads why. */
  | 'DENIED'
  /** It failed. The model reads the reason. */
  | 'ERROR'
  /** Its outcome is unknown. It is not repeated without a decision. */
  | 'INTERRUPTED'
  /** Requested and not started. */
  | 'PENDING'
  /** It runs. */
  | 'RUNNING'
  /** It was not run. The model reads the reason. */
  | 'SKIPPED'
  /** It took longer than its timeout, or no client or tool process ran it in time. */
  | 'TIMED_OUT';

/** The effect of repeating a tool call. */
export type ToolEffect =
  /** A repeated call has the same effect as one call, because the remote side honors the idempotency key. */
  | 'IDEMPOTENT'
  /** A repeated call would have its effect twice, so the tool is called at most once. */
  | 'ONCE'
  /** No effect: the tool changes nothing. */
  | 'PURE';

/** How a response shows calls of server tools to OpenAI clients. More values may be added. */
export type ToolEventFormat =
  /** As `<tool>` lines in the text. */
  | 'INLINE'
  /** Not at all: the text is that of the model only. */
  | 'NONE'
  /** As blocks that Open WebUI renders. */
  | 'OPEN_WEBUI';

/** Compares the name of a tool. */
export type ToolNameFilter = {
  /** Equals this name. */
  readonly eq: string;
};

/** Where a tool can run. */
export type ToolRuntime =
  /** Only on the client. */
  | 'CLIENT'
  /** On the server, or on the client if the server has no handler. */
  | 'HYBRID'
  /** Only on the server. */
  | 'SERVER';

/** What runs a call. */
export type ToolSort =
  /** The client. */
  | 'CLIENT'
  /** An HTTP tool that the workspace has defined. */
  | 'HTTP'
  /** An MCP server that the workspace has connected. */
  | 'MCP'
  /** Code of the installation. */
  | 'SERVER';

/** The call about to run and its claim. */
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
  /** The new job is queued behind the active one. */
  | 'ENQUEUE'
  /** The active job and all queued jobs of the thread are cancelled first. */
  | 'INTERRUPT'
  /** The start is refused (`thread_busy`). */
  | 'REJECT';

/** An attachment of the prompt. */
export type WorkflowAttachmentInput = {
  /** The hash of a file of the workspace (`POST /api/files`). Set either this or `url`. */
  readonly hash?: string | null | undefined;
  /** With `hash`: the media type that the upload returned. */
  readonly mime?: string | null | undefined;
  /** With `url`: its media type. */
  readonly mimeType?: string | null | undefined;
  /** Its name. */
  readonly name?: string | null | undefined;
  /** With `url`: `image`, `audio`, `video` or `file`. */
  readonly type?: string | null | undefined;
  /** Its URL, or a `data:` URL, whose content is stored as a file of the workspace. */
  readonly url?: string | null | undefined;
};

export type ClaimClientToolMutationVariables = Exact<{
  input: ClaimClientToolInput;
}>;


export type ClaimClientToolMutation = { readonly claimClientTool: { readonly callStatus: ToolCallStatus | null, readonly claim: { readonly claimToken: string, readonly callId: string, readonly name: string, readonly arguments: string, readonly threadId: string | null, readonly messageId: string | null, readonly expiresAt: string } | null, readonly userErrors: ReadonlyArray<{ readonly retryable: boolean, readonly code: string, readonly field: string | null, readonly message: string, readonly issues: ReadonlyArray<string> }> } };

export type ValidateClientToolMutationVariables = Exact<{
  input: ValidateClientToolInput;
}>;


export type ValidateClientToolMutation = { readonly validateClientTool: { readonly valid: boolean | null, readonly expiresAt: string | null, readonly callStatus: ToolCallStatus | null, readonly userErrors: ReadonlyArray<{ readonly retryable: boolean, readonly code: string, readonly field: string | null, readonly message: string, readonly issues: ReadonlyArray<string> }> } };

export type SubmitClientToolResultMutationVariables = Exact<{
  input: SubmitClientToolResultInput;
}>;


export type SubmitClientToolResultMutation = { readonly submitClientToolResult: { readonly accepted: boolean | null, readonly callStatus: ToolCallStatus | null, readonly userErrors: ReadonlyArray<{ readonly retryable: boolean, readonly code: string, readonly field: string | null, readonly message: string, readonly issues: ReadonlyArray<string> }> } };

export type FeatureFlagsQueryVariables = Exact<{ [key: string]: never; }>;


export type FeatureFlagsQuery = { readonly featureFlags: ReadonlyArray<{ readonly name: string, readonly enabled: boolean }> };

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


export type ResolveInterruptMutation = { readonly resolveInterrupt: { readonly interrupt: { readonly id: string, readonly kind: InterruptKind, readonly status: InterruptStatus, readonly outcome: string | null, readonly title: string, readonly request: unknown, readonly tool: string | null, readonly callId: string | null, readonly toolCallId: string | null, readonly workflowNodeId: string | null, readonly path: ReadonlyArray<string>, readonly jobId: string, readonly rootJobId: string, readonly threadId: string | null, readonly requester: string | null, readonly mayDecide: boolean, readonly decidableBy: DecidableBy, readonly fourEyes: boolean, readonly adminRequired: boolean, readonly createdAt: string, readonly expiresAt: string | null, readonly decidedAt: string | null, readonly decidedBy: string | null } | null, readonly userErrors: ReadonlyArray<{ readonly retryable: boolean, readonly code: string, readonly field: string | null, readonly message: string, readonly issues: ReadonlyArray<string> }> } };

export type InterruptFieldsFragment = { readonly id: string, readonly kind: InterruptKind, readonly status: InterruptStatus, readonly outcome: string | null, readonly title: string, readonly request: unknown, readonly tool: string | null, readonly callId: string | null, readonly toolCallId: string | null, readonly workflowNodeId: string | null, readonly path: ReadonlyArray<string>, readonly jobId: string, readonly rootJobId: string, readonly threadId: string | null, readonly requester: string | null, readonly mayDecide: boolean, readonly decidableBy: DecidableBy, readonly fourEyes: boolean, readonly adminRequired: boolean, readonly createdAt: string, readonly expiresAt: string | null, readonly decidedAt: string | null, readonly decidedBy: string | null };

export type JobEventsSubscriptionVariables = Exact<{
  jobId: string;
  after?: number | null | undefined;
}>;


export type JobEventsSubscription = { readonly jobEvents:
    | { readonly __typename: 'AgentSelectedEvent', readonly seq: number, readonly jobId: string, readonly at: string, readonly attempt: number, readonly agent: string, readonly slug: string, readonly name: string, readonly version: number, readonly reasoning: string, readonly fallback: boolean }
    | { readonly __typename: 'BranchFinishedEvent', readonly seq: number, readonly jobId: string, readonly at: string, readonly attempt: number, readonly nodeId: string | null, readonly branchId: string | null, readonly label: string, readonly nodeStatus: NodeRunStatus, readonly output: string, readonly failure: string | null, readonly retryable: boolean | null }
    | { readonly __typename: 'BranchStartedEvent', readonly seq: number, readonly jobId: string, readonly at: string, readonly attempt: number, readonly nodeId: string | null, readonly branchId: string | null, readonly label: string }
    | { readonly __typename: 'HookAppliedEvent', readonly seq: number, readonly jobId: string, readonly at: string, readonly attempt: number, readonly hook: string, readonly on: string, readonly what: ReadonlyArray<string>, readonly reason: string, readonly callId: string | null, readonly nodeId: string | null, readonly inRound: number | null }
    | { readonly __typename: 'InterruptOpenedEvent', readonly seq: number, readonly jobId: string, readonly at: string, readonly attempt: number, readonly interruptId: string, readonly kind: InterruptKind, readonly callId: string | null, readonly nodeId: string | null, readonly title: string, readonly expiresAt: string | null, readonly request: unknown }
    | { readonly __typename: 'InterruptReminderEvent', readonly seq: number, readonly jobId: string, readonly at: string, readonly attempt: number, readonly interruptId: string, readonly kind: InterruptKind, readonly title: string, readonly expiresAt: string | null }
    | { readonly __typename: 'InterruptResolvedEvent', readonly seq: number, readonly jobId: string, readonly at: string, readonly attempt: number, readonly interruptId: string, readonly outcome: string, readonly decidedBy: string | null, readonly decidedAt: string }
    | { readonly __typename: 'JobCancelRequestedEvent', readonly seq: number, readonly jobId: string, readonly at: string, readonly attempt: number, readonly by: string, readonly reason: string }
    | { readonly __typename: 'JobFinishedEvent', readonly seq: number, readonly jobId: string, readonly at: string, readonly attempt: number, readonly status: JobStatus, readonly reason: string, readonly contentLength: number, readonly durationMs: number, readonly toolCalls: number, readonly rounds: number, readonly error: { readonly code: string, readonly message: string, readonly retryable: boolean } | null, readonly usage: { readonly promptTokens: number, readonly completionTokens: number, readonly totalTokens: number } }
    | { readonly __typename: 'JobQueuedEvent', readonly seq: number, readonly jobId: string, readonly at: string, readonly attempt: number, readonly threadId: string | null, readonly messageId: string | null, readonly workflowId: string | null, readonly queuePosition: number | null }
    | { readonly __typename: 'JobRequeuedEvent', readonly seq: number, readonly jobId: string, readonly at: string, readonly attempt: number, readonly reason: string }
    | { readonly __typename: 'JobSnapshotEvent', readonly seq: number, readonly jobId: string, readonly at: string, readonly attempt: number, readonly reset: boolean, readonly status: JobStatus, readonly content: string, readonly reasoning: string, readonly error: { readonly code: string, readonly message: string, readonly retryable: boolean } | null, readonly roundStates: ReadonlyArray<{ readonly number: number, readonly text: string, readonly reasoning: string }>, readonly toolCallStates: ReadonlyArray<{ readonly callId: string, readonly round: number, readonly name: string, readonly arguments: string, readonly proposedArguments: string | null, readonly status: ToolCallStatus, readonly result: string | null, readonly error: string | null, readonly retryable: boolean | null }>, readonly interrupts: ReadonlyArray<{ readonly id: string, readonly kind: InterruptKind, readonly callId: string | null, readonly nodeId: string | null, readonly title: string, readonly request: unknown, readonly expiresAt: string | null }> }
    | { readonly __typename: 'JobStartedEvent', readonly seq: number, readonly jobId: string, readonly at: string, readonly attempt: number, readonly epoch: number }
    | { readonly __typename: 'JobWaitingEvent', readonly seq: number, readonly jobId: string, readonly at: string, readonly attempt: number, readonly interruptIds: ReadonlyArray<string> }
    | { readonly __typename: 'JobWarningEvent', readonly seq: number, readonly jobId: string, readonly at: string, readonly attempt: number, readonly code: string, readonly text: string, readonly nodeId: string | null }
    | { readonly __typename: 'LoopIterationEvent', readonly seq: number, readonly jobId: string, readonly at: string, readonly attempt: number, readonly nodeId: string | null, readonly iteration: number | null, readonly maxIterations: number }
    | { readonly __typename: 'ModelRetryEvent', readonly seq: number, readonly jobId: string, readonly at: string, readonly attempt: number, readonly round: number, readonly failures: number, readonly delayMs: number, readonly retryAt: number, readonly code: string, readonly reason: string, readonly waits: boolean, readonly nodeId: string | null }
    | { readonly __typename: 'NodeFinishedEvent', readonly seq: number, readonly jobId: string, readonly at: string, readonly attempt: number, readonly nodeRunId: string, readonly nodeId: string | null, readonly label: string, readonly type: string, readonly path: ReadonlyArray<string>, readonly iteration: number | null, readonly nodeStatus: NodeRunStatus, readonly output: string, readonly tokenCount: number | null, readonly error: { readonly code: string, readonly message: string, readonly retryable: boolean } | null, readonly route: { readonly selectedRoute: string, readonly selectedNodeId: string, readonly selectedName: string, readonly reasoning: string, readonly fallbackUsed: boolean } | null }
    | { readonly __typename: 'NodeProgressEvent', readonly seq: number, readonly jobId: string, readonly at: string, readonly attempt: number, readonly nodeRunId: string, readonly nodeId: string | null, readonly progress: number | null, readonly total: number | null, readonly message: string | null }
    | { readonly __typename: 'NodeStartedEvent', readonly seq: number, readonly jobId: string, readonly at: string, readonly attempt: number, readonly nodeRunId: string, readonly nodeId: string | null, readonly label: string, readonly type: string, readonly path: ReadonlyArray<string>, readonly iteration: number | null }
    | { readonly __typename: 'ReasoningDeltaEvent', readonly seq: number, readonly jobId: string, readonly at: string, readonly attempt: number, readonly round: number, readonly offset: number | null, readonly text: string, readonly nodeId: string | null, readonly branchId: string | null }
    | { readonly __typename: 'RoundFinishedEvent', readonly seq: number, readonly jobId: string, readonly at: string, readonly attempt: number, readonly round: number, readonly finishReason: string, readonly toolCallIds: ReadonlyArray<string>, readonly usage: { readonly promptTokens: number, readonly completionTokens: number, readonly totalTokens: number } }
    | { readonly __typename: 'RoundRestartedEvent', readonly seq: number, readonly jobId: string, readonly at: string, readonly attempt: number, readonly round: number, readonly reason: string, readonly contentLength: number, readonly reasoningLength: number, readonly nodeId: string | null, readonly branchId: string | null }
    | { readonly __typename: 'RoundStartedEvent', readonly seq: number, readonly jobId: string, readonly at: string, readonly attempt: number, readonly round: number, readonly model: string, readonly nodeId: string | null }
    | { readonly __typename: 'RouteSelectedEvent', readonly seq: number, readonly jobId: string, readonly at: string, readonly attempt: number, readonly nodeId: string | null, readonly routeId: string, readonly name: string, readonly reasoning: string, readonly fallbackUsed: boolean }
    | { readonly __typename: 'TextDeltaEvent', readonly seq: number, readonly jobId: string, readonly at: string, readonly attempt: number, readonly round: number, readonly offset: number | null, readonly text: string, readonly nodeId: string | null, readonly branchId: string | null }
    | { readonly __typename: 'ToolCallEvent', readonly seq: number, readonly jobId: string, readonly at: string, readonly attempt: number, readonly nodeId: string | null, readonly toolCall: { readonly callId: string, readonly round: number, readonly name: string, readonly arguments: string, readonly proposedArguments: string | null, readonly status: ToolCallStatus, readonly result: string | null, readonly error: string | null, readonly retryable: boolean | null } }
    | { readonly __typename: 'ToolCallUpdatedEvent', readonly seq: number, readonly jobId: string, readonly at: string, readonly attempt: number, readonly nodeId: string | null, readonly toolCall: { readonly callId: string, readonly round: number, readonly name: string, readonly arguments: string, readonly proposedArguments: string | null, readonly status: ToolCallStatus, readonly result: string | null, readonly error: string | null, readonly retryable: boolean | null } }
    | { readonly __typename: 'ToolProgressEvent', readonly seq: number, readonly jobId: string, readonly at: string, readonly attempt: number, readonly subJobId: string | null, readonly seqInCall: number, readonly progress: number | null, readonly total: number | null, readonly message: string | null, readonly progressOf: string }
   };

export type ToolCallFieldsFragment = { readonly callId: string, readonly round: number, readonly name: string, readonly arguments: string, readonly proposedArguments: string | null, readonly status: ToolCallStatus, readonly result: string | null, readonly error: string | null, readonly retryable: boolean | null };

export type UsageFieldsFragment = { readonly promptTokens: number, readonly completionTokens: number, readonly totalTokens: number };

export type StartChatMutationVariables = Exact<{
  input: StartChatInput;
}>;


export type StartChatMutation = { readonly startChat: { readonly jobId: string | null, readonly messageId: string | null, readonly threadId: string | null, readonly replayed: boolean | null, readonly status: JobStatus | null, readonly userErrors: ReadonlyArray<{ readonly retryable: boolean, readonly code: string, readonly field: string | null, readonly message: string, readonly issues: ReadonlyArray<string> }> } };

export type StartWorkflowMutationVariables = Exact<{
  input: StartWorkflowInput;
}>;


export type StartWorkflowMutation = { readonly startWorkflow: { readonly jobId: string | null, readonly messageId: string | null, readonly threadId: string | null, readonly replayed: boolean | null, readonly status: JobStatus | null, readonly userErrors: ReadonlyArray<{ readonly retryable: boolean, readonly code: string, readonly field: string | null, readonly message: string, readonly issues: ReadonlyArray<string> }> } };

export type RetryJobMutationVariables = Exact<{
  input: RetryJobInput;
}>;


export type RetryJobMutation = { readonly retryJob: { readonly jobId: string | null, readonly messageId: string | null, readonly threadId: string | null, readonly replayed: boolean | null, readonly status: JobStatus | null, readonly userErrors: ReadonlyArray<{ readonly retryable: boolean, readonly code: string, readonly field: string | null, readonly message: string, readonly issues: ReadonlyArray<string> }> } };

export type CancelJobMutationVariables = Exact<{
  jobId: string;
}>;


export type CancelJobMutation = { readonly cancelJob: { readonly state: StopState | null, readonly userErrors: ReadonlyArray<{ readonly retryable: boolean, readonly code: string, readonly field: string | null, readonly message: string, readonly issues: ReadonlyArray<string> }> } };

export type JobStateQueryVariables = Exact<{
  id: string;
}>;


export type JobStateQuery = { readonly job: { readonly id: string, readonly kind: JobKind, readonly status: JobStatus, readonly reason: string | null, readonly model: string, readonly threadId: string | null, readonly messageId: string | null, readonly workflowId: string | null, readonly workflowVersion: number | null, readonly createdAt: string, readonly startedAt: string | null, readonly finishedAt: string | null, readonly lastSeq: number, readonly isDeferred: boolean, readonly cancelRequested: boolean, readonly agent: { readonly id: string, readonly slug: string, readonly name: string, readonly version: number } | null, readonly error: { readonly code: string, readonly message: string, readonly retryable: boolean } | null, readonly usage: { readonly promptTokens: number, readonly completionTokens: number, readonly totalTokens: number } } | null };

export type JobOfMessageQueryVariables = Exact<{
  threadId: string;
  messageId: string;
}>;


export type JobOfMessageQuery = { readonly jobOfMessage: { readonly id: string, readonly kind: JobKind, readonly status: JobStatus, readonly reason: string | null, readonly model: string, readonly threadId: string | null, readonly messageId: string | null, readonly workflowId: string | null, readonly workflowVersion: number | null, readonly createdAt: string, readonly startedAt: string | null, readonly finishedAt: string | null, readonly lastSeq: number, readonly isDeferred: boolean, readonly cancelRequested: boolean, readonly agent: { readonly id: string, readonly slug: string, readonly name: string, readonly version: number } | null, readonly error: { readonly code: string, readonly message: string, readonly retryable: boolean } | null, readonly usage: { readonly promptTokens: number, readonly completionTokens: number, readonly totalTokens: number } } | null };

export type JobResultQueryVariables = Exact<{
  id: string;
}>;


export type JobResultQuery = { readonly job: { readonly content: string, readonly id: string, readonly kind: JobKind, readonly status: JobStatus, readonly reason: string | null, readonly model: string, readonly threadId: string | null, readonly messageId: string | null, readonly workflowId: string | null, readonly workflowVersion: number | null, readonly createdAt: string, readonly startedAt: string | null, readonly finishedAt: string | null, readonly lastSeq: number, readonly isDeferred: boolean, readonly cancelRequested: boolean, readonly toolCalls: ReadonlyArray<{ readonly id: string, readonly callId: string, readonly name: string, readonly arguments: string, readonly proposedArguments: string | null, readonly status: ToolCallStatus, readonly result: string | null }>, readonly agent: { readonly id: string, readonly slug: string, readonly name: string, readonly version: number } | null, readonly error: { readonly code: string, readonly message: string, readonly retryable: boolean } | null, readonly usage: { readonly promptTokens: number, readonly completionTokens: number, readonly totalTokens: number } } | null };

export type SubJobsQueryVariables = Exact<{
  id: string;
}>;


export type SubJobsQuery = { readonly job: { readonly subJobs: ReadonlyArray<{ readonly id: string, readonly status: JobStatus }> } | null };

export type JobsQueryVariables = Exact<{
  filter?: JobFilterInput | null | undefined;
  first?: number | null | undefined;
  after?: string | null | undefined;
}>;


export type JobsQuery = { readonly jobs: { readonly nodes: ReadonlyArray<{ readonly id: string, readonly kind: JobKind, readonly status: JobStatus, readonly reason: string | null, readonly model: string, readonly threadId: string | null, readonly messageId: string | null, readonly workflowId: string | null, readonly workflowVersion: number | null, readonly createdAt: string, readonly startedAt: string | null, readonly finishedAt: string | null, readonly lastSeq: number, readonly isDeferred: boolean, readonly cancelRequested: boolean, readonly agent: { readonly id: string, readonly slug: string, readonly name: string, readonly version: number } | null, readonly error: { readonly code: string, readonly message: string, readonly retryable: boolean } | null, readonly usage: { readonly promptTokens: number, readonly completionTokens: number, readonly totalTokens: number } }>, readonly pageInfo: { readonly hasNextPage: boolean, readonly endCursor: string | null } } };

export type JobFieldsFragment = { readonly id: string, readonly kind: JobKind, readonly status: JobStatus, readonly reason: string | null, readonly model: string, readonly threadId: string | null, readonly messageId: string | null, readonly workflowId: string | null, readonly workflowVersion: number | null, readonly createdAt: string, readonly startedAt: string | null, readonly finishedAt: string | null, readonly lastSeq: number, readonly isDeferred: boolean, readonly cancelRequested: boolean, readonly agent: { readonly id: string, readonly slug: string, readonly name: string, readonly version: number } | null, readonly error: { readonly code: string, readonly message: string, readonly retryable: boolean } | null, readonly usage: { readonly promptTokens: number, readonly completionTokens: number, readonly totalTokens: number } };

export type StartedFragment = { readonly jobId: string | null, readonly messageId: string | null, readonly threadId: string | null, readonly replayed: boolean | null, readonly status: JobStatus | null, readonly userErrors: ReadonlyArray<{ readonly retryable: boolean, readonly code: string, readonly field: string | null, readonly message: string, readonly issues: ReadonlyArray<string> }> };

export type RefusalFragment = { readonly retryable: boolean, readonly code: string, readonly field: string | null, readonly message: string, readonly issues: ReadonlyArray<string> };

export type NotificationsQueryVariables = Exact<{
  filter?: NotificationFilterInput | null | undefined;
  first?: number | null | undefined;
  after?: string | null | undefined;
}>;


export type NotificationsQuery = { readonly notifications: { readonly nodes: ReadonlyArray<{ readonly id: string, readonly type: NotificationType, readonly title: string, readonly at: string, readonly read: boolean, readonly readAt: string | null, readonly jobId: string | null, readonly rootJobId: string | null, readonly threadId: string | null, readonly interruptId: string | null, readonly endpointId: string | null }>, readonly pageInfo: { readonly hasNextPage: boolean, readonly endCursor: string | null } } };

export type UnreadNotificationCountQueryVariables = Exact<{ [key: string]: never; }>;


export type UnreadNotificationCountQuery = { readonly notifications: { readonly totalCount: number | null } };

export type NotificationActivitySubscriptionVariables = Exact<{
  filter?: NotificationFilterInput | null | undefined;
}>;


export type NotificationActivitySubscription = { readonly notificationActivity: { readonly id: string, readonly type: NotificationType, readonly title: string, readonly at: string, readonly read: boolean, readonly readAt: string | null, readonly jobId: string | null, readonly rootJobId: string | null, readonly threadId: string | null, readonly interruptId: string | null, readonly endpointId: string | null } };

export type MarkNotificationReadMutationVariables = Exact<{
  id: string;
}>;


export type MarkNotificationReadMutation = { readonly markNotificationRead: { readonly notification: { readonly id: string, readonly type: NotificationType, readonly title: string, readonly at: string, readonly read: boolean, readonly readAt: string | null, readonly jobId: string | null, readonly rootJobId: string | null, readonly threadId: string | null, readonly interruptId: string | null, readonly endpointId: string | null } | null, readonly userErrors: ReadonlyArray<{ readonly retryable: boolean, readonly code: string, readonly field: string | null, readonly message: string, readonly issues: ReadonlyArray<string> }> } };

export type MarkAllNotificationsReadMutationVariables = Exact<{
  upTo?: string | null | undefined;
}>;


export type MarkAllNotificationsReadMutation = { readonly markAllNotificationsRead: { readonly marked: number | null, readonly userErrors: ReadonlyArray<{ readonly retryable: boolean, readonly code: string, readonly field: string | null, readonly message: string, readonly issues: ReadonlyArray<string> }> } };

export type NotificationFieldsFragment = { readonly id: string, readonly type: NotificationType, readonly title: string, readonly at: string, readonly read: boolean, readonly readAt: string | null, readonly jobId: string | null, readonly rootJobId: string | null, readonly threadId: string | null, readonly interruptId: string | null, readonly endpointId: string | null };

export type WorkspaceQueryVariables = Exact<{ [key: string]: never; }>;


export type WorkspaceQuery = { readonly workspace: { readonly id: string, readonly name: string, readonly createdAt: string } | null };

export type CreateWorkspaceMutationVariables = Exact<{
  name: string;
}>;


export type CreateWorkspaceMutation = { readonly createWorkspace: { readonly secret: string | null, readonly workspace: { readonly id: string, readonly name: string } | null, readonly apiKey: { readonly id: string, readonly userId: string, readonly name: string, readonly prefix: string, readonly scopes: ReadonlyArray<KeyScope>, readonly expiresAt: string | null, readonly lastUsedAt: string | null, readonly revokedAt: string | null, readonly createdAt: string } | null, readonly userErrors: ReadonlyArray<{ readonly retryable: boolean, readonly code: string, readonly field: string | null, readonly message: string, readonly issues: ReadonlyArray<string> }> } };

export type LeaveWorkspaceMutationVariables = Exact<{
  workspaceId: string;
}>;


export type LeaveWorkspaceMutation = { readonly leaveWorkspace: { readonly member: { readonly userId: string, readonly email: string, readonly name: string, readonly role: MemberRole, readonly createdAt: string } | null, readonly userErrors: ReadonlyArray<{ readonly retryable: boolean, readonly code: string, readonly field: string | null, readonly message: string, readonly issues: ReadonlyArray<string> }> } };

export type MembersQueryVariables = Exact<{
  first?: number | null | undefined;
  after?: string | null | undefined;
}>;


export type MembersQuery = { readonly workspace: { readonly members: { readonly nodes: ReadonlyArray<{ readonly userId: string, readonly email: string, readonly name: string, readonly role: MemberRole, readonly createdAt: string }>, readonly pageInfo: { readonly hasNextPage: boolean, readonly endCursor: string | null } } } | null };

export type ChangeMemberRoleMutationVariables = Exact<{
  userId: string;
  role: MemberRole;
}>;


export type ChangeMemberRoleMutation = { readonly changeMemberRole: { readonly member: { readonly userId: string, readonly email: string, readonly name: string, readonly role: MemberRole, readonly createdAt: string } | null, readonly userErrors: ReadonlyArray<{ readonly retryable: boolean, readonly code: string, readonly field: string | null, readonly message: string, readonly issues: ReadonlyArray<string> }> } };

export type RemoveMemberMutationVariables = Exact<{
  userId: string;
}>;


export type RemoveMemberMutation = { readonly removeMember: { readonly member: { readonly userId: string, readonly email: string, readonly name: string, readonly role: MemberRole, readonly createdAt: string } | null, readonly userErrors: ReadonlyArray<{ readonly retryable: boolean, readonly code: string, readonly field: string | null, readonly message: string, readonly issues: ReadonlyArray<string> }> } };

export type AddMemberMutationVariables = Exact<{
  email: string;
  role: MemberRole;
}>;


export type AddMemberMutation = { readonly addMember: { readonly invitation: { readonly id: string, readonly email: string, readonly role: MemberRole, readonly invitedBy: string, readonly createdAt: string, readonly expiresAt: string } | null, readonly userErrors: ReadonlyArray<{ readonly retryable: boolean, readonly code: string, readonly field: string | null, readonly message: string, readonly issues: ReadonlyArray<string> }> } };

export type InvitationsQueryVariables = Exact<{
  first?: number | null | undefined;
  after?: string | null | undefined;
}>;


export type InvitationsQuery = { readonly workspace: { readonly invitations: { readonly nodes: ReadonlyArray<{ readonly id: string, readonly email: string, readonly role: MemberRole, readonly invitedBy: string, readonly createdAt: string, readonly expiresAt: string }>, readonly pageInfo: { readonly hasNextPage: boolean, readonly endCursor: string | null } } } | null };

export type RevokeInvitationMutationVariables = Exact<{
  id: string;
}>;


export type RevokeInvitationMutation = { readonly revokeInvitation: { readonly invitation: { readonly id: string, readonly email: string, readonly role: MemberRole, readonly invitedBy: string, readonly createdAt: string, readonly expiresAt: string } | null, readonly userErrors: ReadonlyArray<{ readonly retryable: boolean, readonly code: string, readonly field: string | null, readonly message: string, readonly issues: ReadonlyArray<string> }> } };

export type ReceivedInvitationsQueryVariables = Exact<{
  first?: number | null | undefined;
  after?: string | null | undefined;
}>;


export type ReceivedInvitationsQuery = { readonly receivedInvitations: { readonly nodes: ReadonlyArray<{ readonly id: string, readonly workspaceId: string, readonly workspaceName: string, readonly role: MemberRole, readonly invitedBy: string, readonly createdAt: string, readonly expiresAt: string }>, readonly pageInfo: { readonly hasNextPage: boolean, readonly endCursor: string | null } } };

export type AcceptInvitationMutationVariables = Exact<{
  id: string;
}>;


export type AcceptInvitationMutation = { readonly acceptInvitation: { readonly workspaceId: string | null, readonly member: { readonly userId: string, readonly email: string, readonly name: string, readonly role: MemberRole, readonly createdAt: string } | null, readonly userErrors: ReadonlyArray<{ readonly retryable: boolean, readonly code: string, readonly field: string | null, readonly message: string, readonly issues: ReadonlyArray<string> }> } };

export type DeclineInvitationMutationVariables = Exact<{
  id: string;
}>;


export type DeclineInvitationMutation = { readonly declineInvitation: { readonly workspaceId: string | null, readonly userErrors: ReadonlyArray<{ readonly retryable: boolean, readonly code: string, readonly field: string | null, readonly message: string, readonly issues: ReadonlyArray<string> }> } };

export type ApiKeysQueryVariables = Exact<{
  first?: number | null | undefined;
  after?: string | null | undefined;
}>;


export type ApiKeysQuery = { readonly workspace: { readonly apiKeys: { readonly nodes: ReadonlyArray<{ readonly id: string, readonly userId: string, readonly name: string, readonly prefix: string, readonly scopes: ReadonlyArray<KeyScope>, readonly expiresAt: string | null, readonly lastUsedAt: string | null, readonly revokedAt: string | null, readonly createdAt: string }>, readonly pageInfo: { readonly hasNextPage: boolean, readonly endCursor: string | null } } } | null };

export type CreateApiKeyMutationVariables = Exact<{
  input: CreateApiKeyInput;
}>;


export type CreateApiKeyMutation = { readonly createApiKey: { readonly secret: string | null, readonly apiKey: { readonly id: string, readonly userId: string, readonly name: string, readonly prefix: string, readonly scopes: ReadonlyArray<KeyScope>, readonly expiresAt: string | null, readonly lastUsedAt: string | null, readonly revokedAt: string | null, readonly createdAt: string } | null, readonly userErrors: ReadonlyArray<{ readonly retryable: boolean, readonly code: string, readonly field: string | null, readonly message: string, readonly issues: ReadonlyArray<string> }> } };

export type RevokeApiKeyMutationVariables = Exact<{
  id: string;
}>;


export type RevokeApiKeyMutation = { readonly revokeApiKey: { readonly apiKey: { readonly id: string, readonly userId: string, readonly name: string, readonly prefix: string, readonly scopes: ReadonlyArray<KeyScope>, readonly expiresAt: string | null, readonly lastUsedAt: string | null, readonly revokedAt: string | null, readonly createdAt: string } | null, readonly userErrors: ReadonlyArray<{ readonly retryable: boolean, readonly code: string, readonly field: string | null, readonly message: string, readonly issues: ReadonlyArray<string> }> } };

export type MemberFieldsFragment = { readonly userId: string, readonly email: string, readonly name: string, readonly role: MemberRole, readonly createdAt: string };

export type InvitationFieldsFragment = { readonly id: string, readonly email: string, readonly role: MemberRole, readonly invitedBy: string, readonly createdAt: string, readonly expiresAt: string };

export type ApiKeyFieldsFragment = { readonly id: string, readonly userId: string, readonly name: string, readonly prefix: string, readonly scopes: ReadonlyArray<KeyScope>, readonly expiresAt: string | null, readonly lastUsedAt: string | null, readonly revokedAt: string | null, readonly createdAt: string };

export type ApprovalPolicyQueryVariables = Exact<{ [key: string]: never; }>;


export type ApprovalPolicyQuery = { readonly approvalPolicy: { readonly version: number, readonly policy: unknown } | null };

export type ValidateApprovalPolicyQueryVariables = Exact<{
  policy: unknown;
}>;


export type ValidateApprovalPolicyQuery = { readonly validateApprovalPolicy: { readonly policy: unknown, readonly userErrors: ReadonlyArray<{ readonly retryable: boolean, readonly code: string, readonly field: string | null, readonly message: string, readonly issues: ReadonlyArray<string> }> } };

export type SaveApprovalPolicyMutationVariables = Exact<{
  input: SaveApprovalPolicyInput;
}>;


export type SaveApprovalPolicyMutation = { readonly saveApprovalPolicy: { readonly userErrors: ReadonlyArray<{ readonly retryable: boolean, readonly code: string, readonly field: string | null, readonly message: string, readonly issues: ReadonlyArray<string> }> } };

export type WorkspaceToolsQueryVariables = Exact<{
  after?: string | null | undefined;
}>;


export type WorkspaceToolsQuery = { readonly workspaceTools: { readonly nodes: ReadonlyArray<{ readonly name: string, readonly definition: unknown }>, readonly pageInfo: { readonly hasNextPage: boolean, readonly endCursor: string | null } } };

export type ValidateToolQueryVariables = Exact<{
  definition: unknown;
}>;


export type ValidateToolQuery = { readonly validateTool: { readonly definition: unknown, readonly userErrors: ReadonlyArray<{ readonly retryable: boolean, readonly code: string, readonly field: string | null, readonly message: string, readonly issues: ReadonlyArray<string> }> } };

export type RegisterToolMutationVariables = Exact<{
  input: RegisterToolInput;
}>;


export type RegisterToolMutation = { readonly registerTool: { readonly userErrors: ReadonlyArray<{ readonly retryable: boolean, readonly code: string, readonly field: string | null, readonly message: string, readonly issues: ReadonlyArray<string> }> } };

export type McpServersQueryVariables = Exact<{
  after?: string | null | undefined;
}>;


export type McpServersQuery = { readonly mcpServers: { readonly nodes: ReadonlyArray<{ readonly name: string, readonly enabled: boolean, readonly settings: { readonly url: string | null, readonly command: string | null, readonly args: ReadonlyArray<string>, readonly timeoutMs: number | null, readonly isolated: boolean, readonly trusted: boolean, readonly effect: ToolEffect | null, readonly headers: ReadonlyArray<{ readonly name: string, readonly value: string }>, readonly env: ReadonlyArray<{ readonly name: string, readonly value: string }>, readonly effects: ReadonlyArray<{ readonly tool: string, readonly effect: ToolEffect }> } | null }>, readonly pageInfo: { readonly hasNextPage: boolean, readonly endCursor: string | null } } };

export type RegisterMcpServerMutationVariables = Exact<{
  input: RegisterMcpServerInput;
}>;


export type RegisterMcpServerMutation = { readonly registerMcpServer: { readonly userErrors: ReadonlyArray<{ readonly retryable: boolean, readonly code: string, readonly field: string | null, readonly message: string, readonly issues: ReadonlyArray<string> }> } };

export type AgentsQueryVariables = Exact<{
  after?: string | null | undefined;
}>;


export type AgentsQuery = { readonly agents: { readonly nodes: ReadonlyArray<{ readonly slug: string, readonly name: string, readonly description: string, readonly model: string | null, readonly instructions: string, readonly tools: ReadonlyArray<string>, readonly externalTools: ReadonlyArray<string>, readonly parameters: unknown, readonly toolApproval: unknown, readonly maxRunningJobs: number | null, readonly toolEventFormat: ToolEventFormat | null, readonly limits: { readonly maxRounds: number | null, readonly maxToolCallsPerRound: number | null, readonly maxOutputBytes: number | null, readonly roundTimeoutMs: number | null, readonly modelRetryForMs: number | null, readonly onProviderDown: ProviderDownAction | null } }>, readonly pageInfo: { readonly hasNextPage: boolean, readonly endCursor: string | null } } };

export type CreateAgentMutationVariables = Exact<{
  input: CreateAgentInput;
}>;


export type CreateAgentMutation = { readonly createAgent: { readonly userErrors: ReadonlyArray<{ readonly retryable: boolean, readonly code: string, readonly field: string | null, readonly message: string, readonly issues: ReadonlyArray<string> }> } };

export type WorkflowDraftQueryVariables = Exact<{
  id: string;
}>;


export type WorkflowDraftQuery = { readonly workflow: { readonly id: string, readonly clientId: string | null, readonly draft: unknown, readonly draftHash: string, readonly draftVersion: number, readonly publishedVersion: number | null } | null };

export type WorkflowVersionQueryVariables = Exact<{
  workflowId: string;
  number: number;
}>;


export type WorkflowVersionQuery = { readonly workflowVersion: { readonly number: number, readonly hash: string } | null };

export type SaveWorkflowMutationVariables = Exact<{
  input: SaveWorkflowInput;
}>;


export type SaveWorkflowMutation = { readonly saveWorkflow: { readonly workflow: { readonly id: string, readonly draftVersion: number } | null, readonly issues: ReadonlyArray<{ readonly type: string, readonly code: string, readonly message: string, readonly path: string, readonly nodeId: string | null, readonly edgeId: string | null }> | null, readonly userErrors: ReadonlyArray<{ readonly retryable: boolean, readonly code: string, readonly field: string | null, readonly message: string, readonly issues: ReadonlyArray<string> }> } };

export type WorkflowSchedulesQueryVariables = Exact<{
  after?: string | null | undefined;
}>;


export type WorkflowSchedulesQuery = { readonly workflowSchedules: { readonly nodes: ReadonlyArray<{ readonly name: string | null, readonly workflowId: string, readonly cron: string, readonly timeZone: string, readonly missed: MissedSlots, readonly prompt: string, readonly enabled: boolean }>, readonly pageInfo: { readonly hasNextPage: boolean, readonly endCursor: string | null } } };

export type SaveWorkflowScheduleMutationVariables = Exact<{
  input: SaveWorkflowScheduleInput;
}>;


export type SaveWorkflowScheduleMutation = { readonly saveWorkflowSchedule: { readonly userErrors: ReadonlyArray<{ readonly retryable: boolean, readonly code: string, readonly field: string | null, readonly message: string, readonly issues: ReadonlyArray<string> }> } };

export type ChatSchedulesQueryVariables = Exact<{
  after?: string | null | undefined;
}>;


export type ChatSchedulesQuery = { readonly chatSchedules: { readonly nodes: ReadonlyArray<{ readonly name: string | null, readonly messages: unknown, readonly model: string | null, readonly tools: ReadonlyArray<string>, readonly threadId: string | null, readonly cron: string, readonly timeZone: string, readonly missed: MissedSlots, readonly enabled: boolean, readonly agent: { readonly id: string | null, readonly auto: boolean | null } | null }>, readonly pageInfo: { readonly hasNextPage: boolean, readonly endCursor: string | null } } };

export type SaveChatScheduleMutationVariables = Exact<{
  input: SaveChatScheduleInput;
}>;


export type SaveChatScheduleMutation = { readonly saveChatSchedule: { readonly userErrors: ReadonlyArray<{ readonly retryable: boolean, readonly code: string, readonly field: string | null, readonly message: string, readonly issues: ReadonlyArray<string> }> } };

export type TriggersQueryVariables = Exact<{
  after?: string | null | undefined;
}>;


export type TriggersQuery = { readonly triggers: { readonly nodes: ReadonlyArray<{ readonly enabled: boolean, readonly definition: unknown }>, readonly pageInfo: { readonly hasNextPage: boolean, readonly endCursor: string | null } } };

export type ValidateTriggerQueryVariables = Exact<{
  definition: unknown;
}>;


export type ValidateTriggerQuery = { readonly validateTrigger: { readonly definition: unknown, readonly userErrors: ReadonlyArray<{ readonly retryable: boolean, readonly code: string, readonly field: string | null, readonly message: string, readonly issues: ReadonlyArray<string> }> } };

export type SaveTriggerMutationVariables = Exact<{
  input: SaveTriggerInput;
}>;


export type SaveTriggerMutation = { readonly saveTrigger: { readonly userErrors: ReadonlyArray<{ readonly retryable: boolean, readonly code: string, readonly field: string | null, readonly message: string, readonly issues: ReadonlyArray<string> }> } };

export type SyntrixConnectionsQueryVariables = Exact<{
  after?: string | null | undefined;
}>;


export type SyntrixConnectionsQuery = { readonly syntrixConnections: { readonly nodes: ReadonlyArray<{ readonly name: string, readonly baseUrl: string, readonly apiStyle: SyntrixApiStyle, readonly database: string, readonly auth: SyntrixAuth, readonly secret: string | null, readonly token: string | null, readonly model: string | null, readonly tools: ReadonlyArray<string>, readonly systemPrompt: string | null, readonly toolCollection: string, readonly maxToolCalls: number, readonly maxToolCallsScope: SyntrixToolCallScope, readonly rateLimit: number | null }>, readonly pageInfo: { readonly hasNextPage: boolean, readonly endCursor: string | null } } };

export type SaveSyntrixConnectionMutationVariables = Exact<{
  input: SaveSyntrixConnectionInput;
}>;


export type SaveSyntrixConnectionMutation = { readonly saveSyntrixConnection: { readonly userErrors: ReadonlyArray<{ readonly retryable: boolean, readonly code: string, readonly field: string | null, readonly message: string, readonly issues: ReadonlyArray<string> }> } };

export type JobWorkflowStateQueryVariables = Exact<{
  id: string;
}>;


export type JobWorkflowStateQuery = { readonly job: { readonly workflowState: unknown } | null };

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


export type ImportWorkflowMutation = { readonly importWorkflow: { readonly workflow: { readonly id: string, readonly clientId: string | null, readonly name: string, readonly slug: string, readonly description: string, readonly draftVersion: number, readonly publishedVersion: number | null, readonly latestVersion: number, readonly updatedAt: string } | null, readonly issues: ReadonlyArray<{ readonly type: string, readonly code: string, readonly message: string, readonly path: string, readonly nodeId: string | null, readonly edgeId: string | null }> | null, readonly userErrors: ReadonlyArray<{ readonly retryable: boolean, readonly code: string, readonly field: string | null, readonly message: string, readonly issues: ReadonlyArray<string> }> } };

export type PublishWorkflowMutationVariables = Exact<{
  input: PublishWorkflowInput;
}>;


export type PublishWorkflowMutation = { readonly publishWorkflow: { readonly version: { readonly number: number, readonly hash: string } | null, readonly issues: ReadonlyArray<{ readonly type: string, readonly code: string, readonly message: string, readonly path: string, readonly nodeId: string | null, readonly edgeId: string | null }> | null, readonly userErrors: ReadonlyArray<{ readonly retryable: boolean, readonly code: string, readonly field: string | null, readonly message: string, readonly issues: ReadonlyArray<string> }> } };

export type WorkflowFieldsFragment = { readonly id: string, readonly clientId: string | null, readonly name: string, readonly slug: string, readonly description: string, readonly draftVersion: number, readonly publishedVersion: number | null, readonly latestVersion: number, readonly updatedAt: string };

export type WorkflowIssueFieldsFragment = { readonly type: string, readonly code: string, readonly message: string, readonly path: string, readonly nodeId: string | null, readonly edgeId: string | null };

export type MeQueryVariables = Exact<{ [key: string]: never; }>;


export type MeQuery = { readonly me: { readonly id: string, readonly workspaceId: string | null, readonly role: MemberRole | null, readonly scopes: ReadonlyArray<KeyScope>, readonly memberships: ReadonlyArray<{ readonly workspaceId: string, readonly workspaceName: string, readonly role: MemberRole }> } };

export type ToolsQueryVariables = Exact<{ [key: string]: never; }>;


export type ToolsQuery = { readonly tools: ReadonlyArray<{ readonly name: string, readonly description: string, readonly effect: ToolEffect, readonly runtime: ToolRuntime, readonly sort: ToolSort, readonly timeoutMs: number | null, readonly version: string, readonly parameters: unknown }> };

export type TestToolMutationVariables = Exact<{
  input: TestToolInput;
}>;


export type TestToolMutation = { readonly testTool: { readonly trial: { readonly durationMs: number, readonly status: number | null, readonly result: string | null, readonly error: string | null, readonly excerpt: string | null, readonly hint: string | null } | null, readonly userErrors: ReadonlyArray<{ readonly retryable: boolean, readonly code: string, readonly field: string | null, readonly message: string, readonly issues: ReadonlyArray<string> }> } };

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
  retryable
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
  isDeferred
  cancelRequested
  error {
    code
    message
    retryable
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
  retryable
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
  retryable
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
  endpointId
}
    `, {"fragmentName":"NotificationFields"}) as unknown as TypedDocumentString<NotificationFieldsFragment, unknown>;
export const MemberFieldsFragmentDoc = new TypedDocumentString(`
    fragment MemberFields on Member {
  userId
  email
  name
  role
  createdAt
}
    `, {"fragmentName":"MemberFields"}) as unknown as TypedDocumentString<MemberFieldsFragment, unknown>;
export const InvitationFieldsFragmentDoc = new TypedDocumentString(`
    fragment InvitationFields on Invitation {
  id
  email
  role
  invitedBy
  createdAt
  expiresAt
}
    `, {"fragmentName":"InvitationFields"}) as unknown as TypedDocumentString<InvitationFieldsFragment, unknown>;
export const ApiKeyFieldsFragmentDoc = new TypedDocumentString(`
    fragment ApiKeyFields on ApiKey {
  id
  userId
  name
  prefix
  scopes
  expiresAt
  lastUsedAt
  revokedAt
  createdAt
}
    `, {"fragmentName":"ApiKeyFields"}) as unknown as TypedDocumentString<ApiKeyFieldsFragment, unknown>;
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
  retryable
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
  retryable
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
  retryable
  code
  field
  message
  issues
}`) as unknown as TypedDocumentString<SubmitClientToolResultMutation, SubmitClientToolResultMutationVariables>;
export const FeatureFlagsDocument = new TypedDocumentString(`
    query FeatureFlags {
  featureFlags {
    name
    enabled
  }
}
    `) as unknown as TypedDocumentString<FeatureFlagsQuery, FeatureFlagsQueryVariables>;
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
  retryable
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
        retryable
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
    ... on ModelRetryEvent {
      round
      failures
      delayMs
      retryAt
      code
      reason
      waits
      nodeId
    }
    ... on HookAppliedEvent {
      hook
      on
      what
      reason
      inRound: round
      callId
      nodeId
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
        retryable
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
      retryable
    }
    ... on RouteSelectedEvent {
      nodeId
      routeId
      name
      reasoning
      fallbackUsed
    }
    ... on NodeProgressEvent {
      nodeRunId
      nodeId
      progress
      total
      message
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
        retryable
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
  retryable
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
  retryable
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
  retryable
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
  retryable
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
  retryable
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
  isDeferred
  cancelRequested
  error {
    code
    message
    retryable
  }
  usage {
    ...UsageFields
  }
}`) as unknown as TypedDocumentString<JobStateQuery, JobStateQueryVariables>;
export const JobOfMessageDocument = new TypedDocumentString(`
    query JobOfMessage($threadId: ID!, $messageId: ID!) {
  jobOfMessage(threadId: $threadId, messageId: $messageId) {
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
  isDeferred
  cancelRequested
  error {
    code
    message
    retryable
  }
  usage {
    ...UsageFields
  }
}`) as unknown as TypedDocumentString<JobOfMessageQuery, JobOfMessageQueryVariables>;
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
  isDeferred
  cancelRequested
  error {
    code
    message
    retryable
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
  isDeferred
  cancelRequested
  error {
    code
    message
    retryable
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
  endpointId
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
  endpointId
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
  retryable
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
  endpointId
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
  retryable
  code
  field
  message
  issues
}`) as unknown as TypedDocumentString<MarkAllNotificationsReadMutation, MarkAllNotificationsReadMutationVariables>;
export const WorkspaceDocument = new TypedDocumentString(`
    query Workspace {
  workspace {
    id
    name
    createdAt
  }
}
    `) as unknown as TypedDocumentString<WorkspaceQuery, WorkspaceQueryVariables>;
export const CreateWorkspaceDocument = new TypedDocumentString(`
    mutation CreateWorkspace($name: String!) {
  createWorkspace(input: {name: $name}) {
    workspace {
      id
      name
    }
    apiKey {
      ...ApiKeyFields
    }
    secret
    userErrors {
      ...Refusal
    }
  }
}
    fragment Refusal on UserError {
  retryable
  code
  field
  message
  issues
}
fragment ApiKeyFields on ApiKey {
  id
  userId
  name
  prefix
  scopes
  expiresAt
  lastUsedAt
  revokedAt
  createdAt
}`) as unknown as TypedDocumentString<CreateWorkspaceMutation, CreateWorkspaceMutationVariables>;
export const LeaveWorkspaceDocument = new TypedDocumentString(`
    mutation LeaveWorkspace($workspaceId: ID!) {
  leaveWorkspace(input: {workspaceId: $workspaceId}) {
    member {
      ...MemberFields
    }
    userErrors {
      ...Refusal
    }
  }
}
    fragment Refusal on UserError {
  retryable
  code
  field
  message
  issues
}
fragment MemberFields on Member {
  userId
  email
  name
  role
  createdAt
}`) as unknown as TypedDocumentString<LeaveWorkspaceMutation, LeaveWorkspaceMutationVariables>;
export const MembersDocument = new TypedDocumentString(`
    query Members($first: Int, $after: String) {
  workspace {
    members(first: $first, after: $after) {
      nodes {
        ...MemberFields
      }
      pageInfo {
        hasNextPage
        endCursor
      }
    }
  }
}
    fragment MemberFields on Member {
  userId
  email
  name
  role
  createdAt
}`) as unknown as TypedDocumentString<MembersQuery, MembersQueryVariables>;
export const ChangeMemberRoleDocument = new TypedDocumentString(`
    mutation ChangeMemberRole($userId: ID!, $role: MemberRole!) {
  changeMemberRole(input: {userId: $userId, role: $role}) {
    member {
      ...MemberFields
    }
    userErrors {
      ...Refusal
    }
  }
}
    fragment Refusal on UserError {
  retryable
  code
  field
  message
  issues
}
fragment MemberFields on Member {
  userId
  email
  name
  role
  createdAt
}`) as unknown as TypedDocumentString<ChangeMemberRoleMutation, ChangeMemberRoleMutationVariables>;
export const RemoveMemberDocument = new TypedDocumentString(`
    mutation RemoveMember($userId: ID!) {
  removeMember(input: {userId: $userId}) {
    member {
      ...MemberFields
    }
    userErrors {
      ...Refusal
    }
  }
}
    fragment Refusal on UserError {
  retryable
  code
  field
  message
  issues
}
fragment MemberFields on Member {
  userId
  email
  name
  role
  createdAt
}`) as unknown as TypedDocumentString<RemoveMemberMutation, RemoveMemberMutationVariables>;
export const AddMemberDocument = new TypedDocumentString(`
    mutation AddMember($email: String!, $role: MemberRole!) {
  addMember(input: {email: $email, role: $role}) {
    invitation {
      ...InvitationFields
    }
    userErrors {
      ...Refusal
    }
  }
}
    fragment Refusal on UserError {
  retryable
  code
  field
  message
  issues
}
fragment InvitationFields on Invitation {
  id
  email
  role
  invitedBy
  createdAt
  expiresAt
}`) as unknown as TypedDocumentString<AddMemberMutation, AddMemberMutationVariables>;
export const InvitationsDocument = new TypedDocumentString(`
    query Invitations($first: Int, $after: String) {
  workspace {
    invitations(first: $first, after: $after) {
      nodes {
        ...InvitationFields
      }
      pageInfo {
        hasNextPage
        endCursor
      }
    }
  }
}
    fragment InvitationFields on Invitation {
  id
  email
  role
  invitedBy
  createdAt
  expiresAt
}`) as unknown as TypedDocumentString<InvitationsQuery, InvitationsQueryVariables>;
export const RevokeInvitationDocument = new TypedDocumentString(`
    mutation RevokeInvitation($id: ID!) {
  revokeInvitation(input: {id: $id}) {
    invitation {
      ...InvitationFields
    }
    userErrors {
      ...Refusal
    }
  }
}
    fragment Refusal on UserError {
  retryable
  code
  field
  message
  issues
}
fragment InvitationFields on Invitation {
  id
  email
  role
  invitedBy
  createdAt
  expiresAt
}`) as unknown as TypedDocumentString<RevokeInvitationMutation, RevokeInvitationMutationVariables>;
export const ReceivedInvitationsDocument = new TypedDocumentString(`
    query ReceivedInvitations($first: Int, $after: String) {
  receivedInvitations(first: $first, after: $after) {
    nodes {
      id
      workspaceId
      workspaceName
      role
      invitedBy
      createdAt
      expiresAt
    }
    pageInfo {
      hasNextPage
      endCursor
    }
  }
}
    `) as unknown as TypedDocumentString<ReceivedInvitationsQuery, ReceivedInvitationsQueryVariables>;
export const AcceptInvitationDocument = new TypedDocumentString(`
    mutation AcceptInvitation($id: ID!) {
  acceptInvitation(input: {id: $id}) {
    workspaceId
    member {
      ...MemberFields
    }
    userErrors {
      ...Refusal
    }
  }
}
    fragment Refusal on UserError {
  retryable
  code
  field
  message
  issues
}
fragment MemberFields on Member {
  userId
  email
  name
  role
  createdAt
}`) as unknown as TypedDocumentString<AcceptInvitationMutation, AcceptInvitationMutationVariables>;
export const DeclineInvitationDocument = new TypedDocumentString(`
    mutation DeclineInvitation($id: ID!) {
  declineInvitation(input: {id: $id}) {
    workspaceId
    userErrors {
      ...Refusal
    }
  }
}
    fragment Refusal on UserError {
  retryable
  code
  field
  message
  issues
}`) as unknown as TypedDocumentString<DeclineInvitationMutation, DeclineInvitationMutationVariables>;
export const ApiKeysDocument = new TypedDocumentString(`
    query ApiKeys($first: Int, $after: String) {
  workspace {
    apiKeys(first: $first, after: $after) {
      nodes {
        ...ApiKeyFields
      }
      pageInfo {
        hasNextPage
        endCursor
      }
    }
  }
}
    fragment ApiKeyFields on ApiKey {
  id
  userId
  name
  prefix
  scopes
  expiresAt
  lastUsedAt
  revokedAt
  createdAt
}`) as unknown as TypedDocumentString<ApiKeysQuery, ApiKeysQueryVariables>;
export const CreateApiKeyDocument = new TypedDocumentString(`
    mutation CreateApiKey($input: CreateApiKeyInput!) {
  createApiKey(input: $input) {
    apiKey {
      ...ApiKeyFields
    }
    secret
    userErrors {
      ...Refusal
    }
  }
}
    fragment Refusal on UserError {
  retryable
  code
  field
  message
  issues
}
fragment ApiKeyFields on ApiKey {
  id
  userId
  name
  prefix
  scopes
  expiresAt
  lastUsedAt
  revokedAt
  createdAt
}`) as unknown as TypedDocumentString<CreateApiKeyMutation, CreateApiKeyMutationVariables>;
export const RevokeApiKeyDocument = new TypedDocumentString(`
    mutation RevokeApiKey($id: ID!) {
  revokeApiKey(input: {id: $id}) {
    apiKey {
      ...ApiKeyFields
    }
    userErrors {
      ...Refusal
    }
  }
}
    fragment Refusal on UserError {
  retryable
  code
  field
  message
  issues
}
fragment ApiKeyFields on ApiKey {
  id
  userId
  name
  prefix
  scopes
  expiresAt
  lastUsedAt
  revokedAt
  createdAt
}`) as unknown as TypedDocumentString<RevokeApiKeyMutation, RevokeApiKeyMutationVariables>;
export const ApprovalPolicyDocument = new TypedDocumentString(`
    query ApprovalPolicy {
  approvalPolicy {
    version
    policy
  }
}
    `) as unknown as TypedDocumentString<ApprovalPolicyQuery, ApprovalPolicyQueryVariables>;
export const ValidateApprovalPolicyDocument = new TypedDocumentString(`
    query ValidateApprovalPolicy($policy: JSON!) {
  validateApprovalPolicy(policy: $policy) {
    policy
    userErrors {
      ...Refusal
    }
  }
}
    fragment Refusal on UserError {
  retryable
  code
  field
  message
  issues
}`) as unknown as TypedDocumentString<ValidateApprovalPolicyQuery, ValidateApprovalPolicyQueryVariables>;
export const SaveApprovalPolicyDocument = new TypedDocumentString(`
    mutation SaveApprovalPolicy($input: SaveApprovalPolicyInput!) {
  saveApprovalPolicy(input: $input) {
    userErrors {
      ...Refusal
    }
  }
}
    fragment Refusal on UserError {
  retryable
  code
  field
  message
  issues
}`) as unknown as TypedDocumentString<SaveApprovalPolicyMutation, SaveApprovalPolicyMutationVariables>;
export const WorkspaceToolsDocument = new TypedDocumentString(`
    query WorkspaceTools($after: String) {
  workspaceTools(first: 100, after: $after) {
    nodes {
      name
      definition
    }
    pageInfo {
      hasNextPage
      endCursor
    }
  }
}
    `) as unknown as TypedDocumentString<WorkspaceToolsQuery, WorkspaceToolsQueryVariables>;
export const ValidateToolDocument = new TypedDocumentString(`
    query ValidateTool($definition: JSON!) {
  validateTool(definition: $definition) {
    definition
    userErrors {
      ...Refusal
    }
  }
}
    fragment Refusal on UserError {
  retryable
  code
  field
  message
  issues
}`) as unknown as TypedDocumentString<ValidateToolQuery, ValidateToolQueryVariables>;
export const RegisterToolDocument = new TypedDocumentString(`
    mutation RegisterTool($input: RegisterToolInput!) {
  registerTool(input: $input) {
    userErrors {
      ...Refusal
    }
  }
}
    fragment Refusal on UserError {
  retryable
  code
  field
  message
  issues
}`) as unknown as TypedDocumentString<RegisterToolMutation, RegisterToolMutationVariables>;
export const McpServersDocument = new TypedDocumentString(`
    query McpServers($after: String) {
  mcpServers(first: 20, after: $after) {
    nodes {
      name
      enabled
      settings {
        url
        headers {
          name
          value
        }
        command
        args
        env {
          name
          value
        }
        timeoutMs
        isolated
        trusted
        effect
        effects {
          tool
          effect
        }
      }
    }
    pageInfo {
      hasNextPage
      endCursor
    }
  }
}
    `) as unknown as TypedDocumentString<McpServersQuery, McpServersQueryVariables>;
export const RegisterMcpServerDocument = new TypedDocumentString(`
    mutation RegisterMcpServer($input: RegisterMcpServerInput!) {
  registerMcpServer(input: $input) {
    userErrors {
      ...Refusal
    }
  }
}
    fragment Refusal on UserError {
  retryable
  code
  field
  message
  issues
}`) as unknown as TypedDocumentString<RegisterMcpServerMutation, RegisterMcpServerMutationVariables>;
export const AgentsDocument = new TypedDocumentString(`
    query Agents($after: String) {
  agents(first: 100, after: $after) {
    nodes {
      slug
      name
      description
      model
      instructions
      tools
      externalTools
      limits {
        maxRounds
        maxToolCallsPerRound
        maxOutputBytes
        roundTimeoutMs
        modelRetryForMs
        onProviderDown
      }
      parameters
      toolApproval
      maxRunningJobs
      toolEventFormat
    }
    pageInfo {
      hasNextPage
      endCursor
    }
  }
}
    `) as unknown as TypedDocumentString<AgentsQuery, AgentsQueryVariables>;
export const CreateAgentDocument = new TypedDocumentString(`
    mutation CreateAgent($input: CreateAgentInput!) {
  createAgent(input: $input) {
    userErrors {
      ...Refusal
    }
  }
}
    fragment Refusal on UserError {
  retryable
  code
  field
  message
  issues
}`) as unknown as TypedDocumentString<CreateAgentMutation, CreateAgentMutationVariables>;
export const WorkflowDraftDocument = new TypedDocumentString(`
    query WorkflowDraft($id: ID!) {
  workflow(id: $id) {
    id
    clientId
    draft
    draftHash
    draftVersion
    publishedVersion
  }
}
    `) as unknown as TypedDocumentString<WorkflowDraftQuery, WorkflowDraftQueryVariables>;
export const WorkflowVersionDocument = new TypedDocumentString(`
    query WorkflowVersion($workflowId: ID!, $number: Int!) {
  workflowVersion(workflowId: $workflowId, number: $number) {
    number
    hash
  }
}
    `) as unknown as TypedDocumentString<WorkflowVersionQuery, WorkflowVersionQueryVariables>;
export const SaveWorkflowDocument = new TypedDocumentString(`
    mutation SaveWorkflow($input: SaveWorkflowInput!) {
  saveWorkflow(input: $input) {
    workflow {
      id
      draftVersion
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
  retryable
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
}`) as unknown as TypedDocumentString<SaveWorkflowMutation, SaveWorkflowMutationVariables>;
export const WorkflowSchedulesDocument = new TypedDocumentString(`
    query WorkflowSchedules($after: String) {
  workflowSchedules(first: 100, after: $after) {
    nodes {
      name
      workflowId
      cron
      timeZone
      missed
      prompt
      enabled
    }
    pageInfo {
      hasNextPage
      endCursor
    }
  }
}
    `) as unknown as TypedDocumentString<WorkflowSchedulesQuery, WorkflowSchedulesQueryVariables>;
export const SaveWorkflowScheduleDocument = new TypedDocumentString(`
    mutation SaveWorkflowSchedule($input: SaveWorkflowScheduleInput!) {
  saveWorkflowSchedule(input: $input) {
    userErrors {
      ...Refusal
    }
  }
}
    fragment Refusal on UserError {
  retryable
  code
  field
  message
  issues
}`) as unknown as TypedDocumentString<SaveWorkflowScheduleMutation, SaveWorkflowScheduleMutationVariables>;
export const ChatSchedulesDocument = new TypedDocumentString(`
    query ChatSchedules($after: String) {
  chatSchedules(first: 100, after: $after) {
    nodes {
      name
      messages
      agent {
        id
        auto
      }
      model
      tools
      threadId
      cron
      timeZone
      missed
      enabled
    }
    pageInfo {
      hasNextPage
      endCursor
    }
  }
}
    `) as unknown as TypedDocumentString<ChatSchedulesQuery, ChatSchedulesQueryVariables>;
export const SaveChatScheduleDocument = new TypedDocumentString(`
    mutation SaveChatSchedule($input: SaveChatScheduleInput!) {
  saveChatSchedule(input: $input) {
    userErrors {
      ...Refusal
    }
  }
}
    fragment Refusal on UserError {
  retryable
  code
  field
  message
  issues
}`) as unknown as TypedDocumentString<SaveChatScheduleMutation, SaveChatScheduleMutationVariables>;
export const TriggersDocument = new TypedDocumentString(`
    query Triggers($after: String) {
  triggers(first: 100, after: $after) {
    nodes {
      enabled
      definition
    }
    pageInfo {
      hasNextPage
      endCursor
    }
  }
}
    `) as unknown as TypedDocumentString<TriggersQuery, TriggersQueryVariables>;
export const ValidateTriggerDocument = new TypedDocumentString(`
    query ValidateTrigger($definition: JSON!) {
  validateTrigger(definition: $definition) {
    definition
    userErrors {
      ...Refusal
    }
  }
}
    fragment Refusal on UserError {
  retryable
  code
  field
  message
  issues
}`) as unknown as TypedDocumentString<ValidateTriggerQuery, ValidateTriggerQueryVariables>;
export const SaveTriggerDocument = new TypedDocumentString(`
    mutation SaveTrigger($input: SaveTriggerInput!) {
  saveTrigger(input: $input) {
    userErrors {
      ...Refusal
    }
  }
}
    fragment Refusal on UserError {
  retryable
  code
  field
  message
  issues
}`) as unknown as TypedDocumentString<SaveTriggerMutation, SaveTriggerMutationVariables>;
export const SyntrixConnectionsDocument = new TypedDocumentString(`
    query SyntrixConnections($after: String) {
  syntrixConnections(first: 100, after: $after) {
    nodes {
      name
      baseUrl
      apiStyle
      database
      auth
      secret
      token
      model
      tools
      systemPrompt
      toolCollection
      maxToolCalls
      maxToolCallsScope
      rateLimit
    }
    pageInfo {
      hasNextPage
      endCursor
    }
  }
}
    `) as unknown as TypedDocumentString<SyntrixConnectionsQuery, SyntrixConnectionsQueryVariables>;
export const SaveSyntrixConnectionDocument = new TypedDocumentString(`
    mutation SaveSyntrixConnection($input: SaveSyntrixConnectionInput!) {
  saveSyntrixConnection(input: $input) {
    userErrors {
      ...Refusal
    }
  }
}
    fragment Refusal on UserError {
  retryable
  code
  field
  message
  issues
}`) as unknown as TypedDocumentString<SaveSyntrixConnectionMutation, SaveSyntrixConnectionMutationVariables>;
export const JobWorkflowStateDocument = new TypedDocumentString(`
    query JobWorkflowState($id: ID!) {
  job(id: $id) {
    workflowState
  }
}
    `) as unknown as TypedDocumentString<JobWorkflowStateQuery, JobWorkflowStateQueryVariables>;
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
  retryable
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
  retryable
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
      workspaceName
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
  retryable
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