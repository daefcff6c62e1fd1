import type {
  JsonSchema,
  OnUnknown,
  ToolContext as PluginToolContext,
  ToolEffect,
  ToolRuntime,
  Verification,
  WorkspaceFiles,
} from '@nightshift/plugin';

export type { JsonSchema, OnUnknown, ToolEffect, ToolRuntime, Verification };
export type { Progress as ToolProgress } from '@nightshift/plugin';

/** What runs the call; the ledger's `runtime`. */
export type ToolSort = 'server' | 'client' | 'http' | 'mcp';

/** Maximum `concurrency`: calls of one tool that run at once in a workspace. */
export const MAX_CONCURRENT = 100;

/** The services that only the code of plugins receives. */
type PluginServices = 'userId' | 'secrets' | 'fetch' | 'logger' | 'files';

/** The context that a handler receives. The context of a plugin's tool has more (`PluginContexts`). */
export interface ToolContext extends Omit<PluginToolContext, PluginServices | 'attempt'> {
  /** The id of the ledger row, for tools that run as sub-jobs. */
  readonly toolCallId?: string;
  /** Collects artifacts that this process cannot store; absent: it stores them itself. */
  readonly outbox?: Pick<WorkspaceFiles, 'put'>;
  /** Default 1, the first attempt. */
  readonly attempt?: number;
}

/** A tool in the registry; made by `defineTool`. */
export interface Tool {
  readonly name: string;
  readonly description: string;
  readonly parameters: JsonSchema;
  readonly runtime: ToolRuntime;
  readonly effect: ToolEffect;
  /** Timeout of a call in ms; null: the default of the installation. */
  readonly timeoutMs: number | null;
  readonly enabled: boolean;
  /**
   * The feature flag that must be on for the requester. If it is off, the tool is not offered, and a call reads as a call of an unknown tool.
   * Null: no flag.
   */
  readonly flag: string | null;
  /** For a disabled tool: the reason, for jobs that were offered the tool before. Null: a call reads as a call of an unknown tool. */
  readonly withdrawn: string | null;
  /** Whether identical calls within a job are useful (polling). */
  readonly repeatable: boolean;
  readonly sort: ToolSort;
  /** Changes whenever the definition for the model or the code changes. Jobs pin it. */
  readonly version: string;
  /**
   * `queue`: runs in a process of the tool queue, while the job waits without a slot. `job`: runs as a sub-job; the handler only
   * starts it, for `context.toolCallId` and once per idempotency key.
   */
  readonly isolation: 'worker' | 'queue' | 'job';
  /**
   * Whether the tool reads tables that the login of tool processes cannot read. With isolation `worker`, such a tool always runs in the
   * worker.
   */
  readonly workerOnly: boolean;
  /** With isolation `queue`: how many of its calls run at once in a workspace, in all tool processes. Null: no limit. */
  readonly concurrency: number | null;
  /** The workflow, if the tool is a workflow. Jobs that run this workflow are not offered the tool. */
  readonly workflowId: string | null;
  /** The tool's own layer of the approval policy; null: none. It can only make the decision stricter. */
  readonly approval: 'require_approval' | 'block' | null;
  /** Whether a person who approves may change the arguments. */
  readonly allowEdit: boolean;
  /** Names of arguments, at any depth, whose values a preview shows as `***`. */
  readonly sensitiveFields: readonly string[];
  /** The part of the tool that a timed grant covers, for example `POST api.example.com`. */
  readonly grantKey: ((args: Readonly<Record<string, unknown>>) => string) | null;
  /** `person`: the call is a question for a person. An interrupt `human_input` settles it, and the handler never runs. */
  readonly asks: 'person' | null;
  readonly onUnknown: OnUnknown;
  /** Asks the remote system about the outcome of a started call. */
  readonly verify: ((idempotencyKey: string, context: ToolContext) => Promise<Verification>) | null;
  /**
   * The handler; null if only a client can run the tool. It receives arguments that are valid for `parameters`, returns text or a JSON value,
   * and throws to fail: the model reads the message as the reason.
   */
  readonly handler: ((args: Readonly<Record<string, unknown>>, context: ToolContext) => Promise<unknown>) | null;
}
