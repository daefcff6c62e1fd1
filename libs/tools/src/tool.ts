/** Who can run a tool: a handler here, the client that asked for it, or whichever there is (`hybrid`). */
export type ToolRuntime = 'hybrid' | 'client' | 'server';

/**
 * What calling twice would do. `pure` changes nothing; `idempotent`: the far side honours the idempotency key; both may be
 * called again after a crash, with the same key. `once` is called at most once.
 */
export type ToolEffect = 'pure' | 'idempotent' | 'once';

/** A JSON Schema (2020-12, or draft-07 when its `$schema` says so) of an object. */
export type JsonSchema = Readonly<Record<string, unknown>>;

/** What a handler may know about the call it serves. */
export interface ToolContext {
  readonly workspaceId: string;
  readonly jobId: string;
  readonly threadId: string | null;
  /** `user:<id>`, `key:<id>` or `system`: whose rights the tool acts with. */
  readonly principal: string;
  readonly callId: string;
  /** The same for every attempt of this call; send it along with any effect. */
  readonly idempotencyKey: string;
  /** The lease epoch under which the call was started; send it beside the key so that a stale sender can be told apart. */
  readonly epoch: number;
  /** Aborts at the tool's time limit and when the job is stopped. A handler that ignores it is not waited for. */
  readonly signal: AbortSignal;
  /** Wall time in ms since the epoch. */
  readonly now: () => number;
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
  /** Whether identical calls within a job make sense (polling). */
  readonly repeatable: boolean;
  /**
   * The handler; null when only a client can run it. Takes arguments that are valid by `parameters`, gives text or a JSON
   * value, and throws to fail: its message is what the model reads as the reason.
   */
  readonly handler: ((args: Readonly<Record<string, unknown>>, context: ToolContext) => Promise<unknown>) | null;
}
