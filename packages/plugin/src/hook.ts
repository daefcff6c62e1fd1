import type { PluginLogger, PluginSecrets } from './context.js';
import { define, type Defined } from './definition.js';
import type { WorkspaceFiles } from './files.js';
import type { JsonObject, JsonSchema } from './schema.js';
import type { ToolEffect } from './tool.js';

/** The job that an event belongs to. */
export interface HookedJob {
  readonly workspaceId: string;
  readonly jobId: string;
  readonly threadId: string | null;
  /** `user:<id>`, `key:<id>` or `system`. */
  readonly principal: string;
  readonly userId: string | null;
  /** `chat` or `workflow`. */
  readonly kind: string;
  /** Name of the agent; null: none. */
  readonly agent: string | null;
  /** Id of the workflow; null: none. */
  readonly workflow: string | null;
  /** Key-value pairs, from the start of the job and from hooks of `beforeJobStart`. */
  readonly labels: Readonly<Record<string, string>>;
}

/** A message in the format of model providers. */
export interface HookedMessage {
  readonly role: 'system' | 'user' | 'assistant' | 'tool';
  readonly content: unknown;
  readonly [field: string]: unknown;
}

/** A tool as the model sees it. */
export interface HookedTool {
  readonly name: string;
  readonly description?: string;
  readonly parameters?: JsonSchema;
}

/** A call that the model has requested. `arguments` is JSON text as the model wrote it. */
export interface HookedCall {
  readonly callId: string;
  readonly name: string;
  readonly arguments: string;
}

/** A node run of a workflow. */
export interface HookedNode {
  readonly id: string;
  readonly type: string;
  readonly run: number;
}

/** A request for which a job waits. Instants in ms since the epoch. */
export interface HookedInterrupt {
  readonly id: string;
  /** `tool_approval`, `human_input`, `client_tool`, `unknown_outcome`, `wait`, `provider_unavailable` or `plugin_missing`; the list grows. */
  readonly kind: string;
  /** `open`, or how it was settled before the hook ran: `resolved`, `expired` or `cancelled`. */
  readonly status: string;
  readonly title: string;
  /** Its members depend on `kind`. */
  readonly request: JsonObject;
  /** The id that the model gave the call; null: the request is not about a call. */
  readonly callId: string | null;
  readonly tool: string | null;
  readonly nodeId: string | null;
  /** The job that was started by a person or a trigger; the id of the job itself unless that is a sub-job. */
  readonly rootJobId: string;
  readonly createdAt: number;
  /** Null: it does not expire. */
  readonly expiresAt: number | null;
}

/** A job that has ended. Instants in ms since the epoch. */
export interface HookedEnd {
  readonly status: 'completed' | 'failed' | 'cancelled';
  /** A finish reason, an error code, or the reason of a cancel. */
  readonly reason: string | null;
  /** Null: the job did not fail. */
  readonly error: { readonly code: string; readonly message: string; readonly retryable?: boolean } | null;
  /** The job that started this one as a sub-job; null: none. */
  readonly parentJobId: string | null;
  readonly model: string;
  readonly rounds: number;
  readonly toolCalls: number;
  readonly promptTokens: number;
  readonly completionTokens: number;
  readonly createdAt: number;
  /** Null: no worker ran the job. */
  readonly startedAt: number | null;
  readonly finishedAt: number;
}

/** A notification for the person who started a job, about that job. Instants in ms since the epoch. */
export interface HookedNotification {
  readonly id: string;
  /** `job_completed`, `job_failed` or `input_needed`; the list grows. */
  readonly type: string;
  /** The user who gets the notification. */
  readonly userId: string;
  /** The job that the person started. */
  readonly rootJobId: string;
  /** The thread of that job, and the client's name for the thread. */
  readonly threadId: string | null;
  readonly threadName: string | null;
  /** For `input_needed`: the id of the request. */
  readonly interruptId: string | null;
  readonly title: string;
  readonly createdAt: number;
  /** Null: the person has not read it. */
  readonly readAt: number | null;
}

/** The input of each kind of hook. */
export interface HookEvents {
  readonly beforeJobStart: HookedJob & { readonly input: JsonObject };
  readonly beforeModelCall: HookedJob & {
    readonly round: number;
    readonly model: string | null;
    readonly messages: readonly HookedMessage[];
    readonly tools: readonly HookedTool[];
    readonly parameters: JsonObject;
  };
  readonly afterModelCall: HookedJob & {
    readonly round: number;
    readonly model: string | null;
    readonly text: string;
    readonly toolCalls: readonly HookedCall[];
    readonly usage: { readonly inputTokens: number; readonly outputTokens: number } | null;
  };
  readonly beforeToolCall: HookedJob & {
    readonly callId: string;
    readonly tool: string;
    readonly arguments: JsonObject;
    readonly effect: ToolEffect;
    /** What the policy has decided about the call so far. */
    readonly approval: 'none' | 'required' | 'approved';
  };
  readonly afterToolCall: HookedJob & {
    readonly callId: string;
    readonly tool: string;
    readonly arguments: JsonObject;
    /** Text or JSON text; null: the call failed. */
    readonly result: string | null;
    /** Null: the call completed. */
    readonly error: string | null;
    readonly durationMs: number;
  };
  readonly beforeNode: HookedJob & { readonly node: HookedNode; readonly input: unknown };
  readonly afterNode: HookedJob & { readonly node: HookedNode; readonly output: unknown };
  readonly onInterrupt: HookedJob & { readonly interrupt: HookedInterrupt };
  readonly onJobFinished: HookedJob & { readonly job: HookedEnd };
  readonly onNotification: HookedJob & { readonly notification: HookedNotification };
}

interface Deny {
  readonly deny: string;
}

/** The possible outcomes of each kind of hook. `undefined` changes nothing. */
export interface HookOutcomes {
  readonly beforeJobStart:
    | Deny
    /** The server adds `labels` to those of the job; a label replaces one with the same key. */
    | {
        readonly input?: JsonObject;
        readonly labels?: Readonly<Record<string, string>>;
        readonly reason?: string;
      };
  readonly beforeModelCall:
    | Deny
    | { readonly answer: string }
    | {
        readonly messages?: readonly HookedMessage[];
        readonly tools?: readonly HookedTool[];
        readonly parameters?: JsonObject;
        readonly reason?: string;
      };
  readonly afterModelCall:
    /** At most one restart in a round. */
    | { readonly restart: string }
    /** `dropCalls`: ids of calls that do not run. */
    | { readonly text?: string; readonly dropCalls?: readonly string[]; readonly reason?: string };
  readonly beforeToolCall:
    | Deny
    /** The call completes with this value, and the tool does not run. */
    | { readonly result: unknown }
    /** `requireApproval`: a person must approve the call even if the policy allows it. */
    | { readonly arguments?: JsonObject; readonly requireApproval?: string; readonly reason?: string };
  readonly afterToolCall: { readonly result: unknown; readonly reason?: string } | { readonly error: string };
  readonly beforeNode:
    { readonly input: unknown; readonly reason?: string } | { readonly skip: string } | { readonly fail: string };
  readonly afterNode: { readonly output: unknown; readonly reason?: string } | { readonly fail: string };
  readonly onInterrupt: undefined;
  readonly onJobFinished: undefined;
  readonly onNotification: undefined;
}

/** When a hook runs. */
export type HookEvent = keyof HookEvents;

/** The context that a hook gets. */
export interface HookContext {
  /** Aborts at the timeout and when the job is stopped. */
  readonly signal: AbortSignal;
  /** Wall time in ms since the epoch. */
  readonly now: () => number;
  readonly secrets: PluginSecrets;
  /** `fetch` with the guard of the server. */
  readonly fetch: typeof globalThis.fetch;
  readonly logger: PluginLogger;
  /** Reads files of the workspace. */
  readonly files: Pick<WorkspaceFiles, 'get'>;
}

/** The context of hooks for `onInterrupt`, `onJobFinished` and `onNotification`. */
export interface ActionContext extends HookContext {
  /** The same for every attempt to run this hook for the same event: a hook may run more than once. */
  readonly idempotencyKey: string;
  /** Counts from 1. */
  readonly attempt: number;
}

/** The context for a kind of hook. */
export type HookContextOf<On extends HookEvent> = On extends 'onInterrupt' | 'onJobFinished' | 'onNotification'
  ? ActionContext
  : HookContext;

/** Globs; each that is given must match. */
export interface HookMatch {
  readonly tool?: string | readonly string[];
  readonly agent?: string | readonly string[];
  readonly workflow?: string | readonly string[];
  /** Ids of workspaces. */
  readonly workspace?: string | readonly string[];
}

/** A hook: code for one kind of step of jobs. docs/plugins.md of Nightshift lists the kinds that run. */
export interface HookSpec<On extends HookEvent = HookEvent> {
  readonly on: On;
  /** Unique in the installation. */
  readonly name: string;
  /** Hooks with lower numbers run first; equal ones in the order in which they were loaded. Default 100. */
  readonly priority?: number;
  /** Ms until the hook is aborted and counts as failed. Default 2,000. */
  readonly timeoutMs?: number;
  /** After a failure: the job continues as if the hook was absent (`open`, the default), or the step is denied (`closed`). Actions ignore it. */
  readonly failure?: 'open' | 'closed';
  /** A CEL condition over the event, or globs. Default: every event. */
  readonly match?: string | HookMatch;
  /** Return nothing to leave the step unchanged. */
  run(
    event: HookEvents[On],
    context: HookContextOf<On>,
  ): HookOutcomes[On] | null | undefined | void | Promise<HookOutcomes[On] | null | undefined | void>; // eslint-disable-line @typescript-eslint/no-invalid-void-type -- a function without `return` is one
}

/** A hook of a plugin. */
export type HookDefinition<On extends HookEvent = HookEvent> = HookSpec<On> & Defined<'hook'>;

/** Defines a hook. */
export function defineHook<const On extends HookEvent>(spec: HookSpec<On>): HookDefinition<On> {
  return define('hook', spec);
}
