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

/** What kind of thing answers the call; the ledger's `runtime`. */
export type ToolSort = 'server' | 'client' | 'http' | 'mcp';

/** Of calls of one tool in one workspace, where the tool limits them. */
export const MOST_CONCURRENT = 100;

/** What only the code of plugins is given. */
type PluginServices = 'userId' | 'secrets' | 'fetch' | 'logger' | 'files';

/** What a handler may know about the call it serves. The context of a plugin's tool has more (`PluginContexts`). */
export interface ToolContext extends Omit<PluginToolContext, PluginServices | 'attempt'> {
  /** The ledger row's id; for tools whose work is a job. */
  readonly toolCallId?: string;
  /** Takes artifacts that this process cannot store; absent: it stores them itself. */
  readonly outbox?: Pick<WorkspaceFiles, 'put'>;
  /** 1, the default, for the first attempt. */
  readonly attempt?: number;
}

/** A tool as the registry holds it; made by `defineTool`. */
export interface Tool {
  readonly name: string;
  readonly description: string;
  readonly parameters: JsonSchema;
  readonly runtime: ToolRuntime;
  readonly effect: ToolEffect;
  /** Ms until the call is aborted; null takes the instance's default. */
  readonly timeoutMs: number | null;
  readonly enabled: boolean;
  /** The feature flag that must be on for the requester: else the tool is not offered, and reads as any unknown tool. Null: none. */
  readonly flag: string | null;
  /** Of a tool that is not enabled: why, in words for a job that was offered it before; null: it reads as any unknown tool. */
  readonly withdrawn: string | null;
  /** Whether identical calls within a job make sense (polling). */
  readonly repeatable: boolean;
  readonly sort: ToolSort;
  /** Changes whenever what the model is shown or what runs changes; jobs pin it. */
  readonly version: string;
  /**
   * `queue`: runs in a process of the isolated tool queue, while the job waits without a slot. `job`: its work is a job of its own;
   * the handler only starts that, for `context.toolCallId` and once for each idempotency key.
   */
  readonly isolation: 'worker' | 'queue' | 'job';
  /** The tool reads tables that the login of tool processes does not see: with isolation `worker`, it always runs there. */
  readonly workerOnly: boolean;
  /** Of a tool with isolation `queue`: how many of its calls run at once in a workspace, in all tool processes. Null: no limit. */
  readonly concurrency: number | null;
  /** Of a tool that is a workflow: which one. It is not offered to jobs that run it. */
  readonly workflowId: string | null;
  /** The tool's own layer of the approval policy; null: it asks for nothing. It can only tighten. */
  readonly approval: 'require_approval' | 'block' | null;
  /** Whether a person who approves may change the arguments. */
  readonly allowEdit: boolean;
  /** Names of arguments, at any depth, whose values a preview shows as `***`. */
  readonly sensitiveFields: readonly string[];
  /** Narrows a timed grant to less than the tool's name, for example `POST api.example.com`. */
  readonly grantKey: ((args: Readonly<Record<string, unknown>>) => string) | null;
  /** `person`: the call is a question for a person; an interrupt `human_input` settles it and the handler is never called. */
  readonly asks: 'person' | null;
  readonly onUnknown: OnUnknown;
  /** Asks the far side what became of a started call. */
  readonly verify: ((idempotencyKey: string, context: ToolContext) => Promise<Verification>) | null;
  /**
   * The handler; null when only a client can run it. Takes arguments that are valid by `parameters`, gives text or a JSON
   * value, and throws to fail: its message is what the model reads as the reason.
   */
  readonly handler: ((args: Readonly<Record<string, unknown>>, context: ToolContext) => Promise<unknown>) | null;
}
