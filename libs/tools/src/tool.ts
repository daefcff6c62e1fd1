/** Who can run a tool: a handler here, the client that asked for it, or whichever there is (`hybrid`). */
export type ToolRuntime = 'hybrid' | 'client' | 'server';

/**
 * What calling twice would do. `pure` changes nothing; `idempotent`: the far side honours the idempotency key; both may be
 * called again after a crash, with the same key. `once` is called at most once.
 */
export type ToolEffect = 'pure' | 'idempotent' | 'once';

/** What kind of thing answers the call; the ledger's `runtime`. */
export type ToolSort = 'server' | 'client' | 'http' | 'mcp';

/**
 * What happens to a started `once` call with an unknown outcome: a person is asked; the tool's own `verify` is asked first and a
 * person only if it is not certain; the model reads "outcome unknown"; or the job fails.
 */
export type OnUnknown = 'ask' | 'verify' | 'report' | 'fail';

/** What a tool reports about a started call when given its idempotency key. */
export type Verification =
  | { readonly outcome: 'happened'; readonly result: unknown }
  | { readonly outcome: 'did_not_happen' }
  /** `note` is shown to the person who decides. */
  | { readonly outcome: 'unknown'; readonly note?: string };

/** How far a call is; any part may be left out. `total` in the unit of `progress`. */
export interface ToolProgress {
  readonly progress?: number;
  readonly total?: number;
  readonly message?: string;
}

/** Of calls of one tool in one workspace, where the tool limits them. */
export const MOST_CONCURRENT = 100;

/** A JSON Schema (2020-12, or draft-07 when its `$schema` names that) of an object. */
export type JsonSchema = Readonly<Record<string, unknown>>;

/** What a handler may know about the call it serves. */
export interface ToolContext {
  readonly workspaceId: string;
  readonly jobId: string;
  readonly threadId: string | null;
  /** `user:<id>`, `key:<id>` or `system`: whose rights the tool acts with. */
  readonly principal: string;
  readonly callId: string;
  /** The ledger row's id; for tools whose work is a job. */
  readonly toolCallId?: string;
  /** The same for every attempt of this call; send it along with any effect. */
  readonly idempotencyKey: string;
  /** The lease epoch under which the call was started; send it with the key so that a stale sender can be recognized. */
  readonly epoch: number;
  /** Aborts at the tool's time limit and when the job is stopped. A handler that ignores it is not waited for. */
  readonly signal: AbortSignal;
  /** Wall time in ms since the epoch. */
  readonly now: () => number;
  /** Reports the progress of the call to viewers, who see at most two updates a second. Never part of the result. */
  readonly progress: (progress: ToolProgress) => void;
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
