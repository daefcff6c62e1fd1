import type { Progress, WorkContext } from './context.js';
import { define, type Defined } from './definition.js';
import type { InputOf, InputSchema } from './schema.js';

/** Who can run a tool: the server, the client that declared it, or the server if it has a handler (`hybrid`). */
export type ToolRuntime = 'hybrid' | 'client' | 'server';

/**
 * The effect of repeating a call. `pure` changes nothing; `idempotent`: the remote side honors the idempotency key; both may be
 * called again after a crash, with the same key. `once` is called at most once.
 */
export type ToolEffect = 'pure' | 'idempotent' | 'once';

/**
 * What happens to a started `once` call with an unknown outcome. `ask`: a person decides. `verify`: the tool's own `verify` decides, and a
 * person if `verify` is not certain. `report`: the model reads "outcome unknown". `fail`: the job fails.
 */
export type OnUnknown = 'ask' | 'verify' | 'report' | 'fail';

/** What a tool reports about a started call, by its idempotency key. */
export type Verification =
  | { readonly outcome: 'happened'; readonly result: unknown }
  | { readonly outcome: 'did_not_happen' }
  /** `note` is shown to the person who decides. */
  | { readonly outcome: 'unknown'; readonly note?: string };

/** The context that a handler on the server gets for a call. */
export interface ToolContext extends WorkContext {
  readonly callId: string;
  /** The same for every attempt of this call; send it along with any effect. */
  readonly idempotencyKey: string;
  /** The lease epoch under which the call was started; send it with the key so that a stale sender can be recognized. */
  readonly epoch: number;
  /** 1 for the first attempt; a higher number after a crash. */
  readonly attempt: number;
  /** Reports the progress of the call to viewers, who see at most two updates a second. Never part of the result. */
  readonly progress: (progress: Progress) => void;
}

/** The context that a handler on a client gets for a call. */
export interface ClientToolContext {
  readonly jobId: string;
  readonly callId: string;
  readonly name: string;
  /** Aborts when the result is no longer needed. */
  readonly signal: AbortSignal;
}

/** The options of every tool, on the server and on clients. */
export interface ToolOptions<Context> {
  /** 1 to 64 letters, digits, `_`, `-` and `.`; unique in the installation. */
  readonly name: string;
  /** The description for the model; include when to use the tool. */
  readonly description: string;
  /** Default `hybrid`, or `client` for a tool without a handler for the server. */
  readonly runtime?: ToolRuntime;
  /** Default `once`: a tool with an undeclared effect is never called twice. */
  readonly effect?: ToolEffect;
  /** Ms until a call is aborted; default: TOOL_TIMEOUT_MS. */
  readonly timeoutMs?: number;
  /** Default true. A disabled tool is neither listed nor run. */
  readonly enabled?: boolean;
  /**
   * The feature flag that the tool requires: a job gets the tool only if the flag is on for its requester. Default: none. See
   * docs/feature-flags.md.
   */
  readonly flag?: string;
  /** Default false. Whether identical calls within a job make sense, for example for polling. */
  readonly repeatable?: boolean;
  /** Default: a fingerprint of name, description and schema. */
  readonly version?: string;
  /** Default `worker`; `queue` for a call that takes long or must not share the process of its job. */
  readonly isolation?: 'worker' | 'queue';
  /** 1 to 100, with isolation `queue` only: the maximum of its calls that run at once in a workspace. Default: no limit. */
  readonly concurrency?: number;
  /** Default: the tool itself requires no approval. */
  readonly approval?: 'require_approval' | 'block';
  /** Default true. Whether an approver may change the arguments. */
  readonly allowEdit?: boolean;
  /** Default none. Names of arguments, at any depth, whose values previews hide. */
  readonly sensitiveFields?: readonly string[];
  /** Narrows timed grants, for example `POST api.example.com`; default: the tool's name. */
  readonly grantKey?: (args: Readonly<Record<string, unknown>>) => string;
  /** Default `verify` for a tool with `verify`, else `ask`. Applies to `once` tools only. */
  readonly onUnknown?: OnUnknown;
  /** Asks the remote side for the outcome of a started call. */
  verify?(idempotencyKey: string, context: Context): Promise<Verification>;
}

/** One handler, or one for each side. */
type Handlers<Args> =
  | {
      /**
       * Returns text, JSON, a `ResultWithArtifacts`, or an async iterable that yields `Progress` and returns the result. If it throws,
       * the call fails and the model reads the message of the error.
       */
      execute(args: Args, context: ToolContext): unknown;
      readonly server?: never;
      readonly client?: never;
    }
  | {
      readonly execute?: never;
      /** As `execute`. */
      server?(args: Args, context: ToolContext): unknown;
      /** Runs in a client of `@nightshift/client` that is given the definition in `tools`; servers ignore it. Returns text or JSON. */
      client?(args: Args, context: ClientToolContext): unknown;
    };

/** A tool: its description for the model, and the handlers of its calls. */
export type ToolSpec<Input extends InputSchema = InputSchema> = ToolOptions<ToolContext> & {
  readonly input: Input;
} & Handlers<InputOf<Input>>;

/** A tool of a plugin. */
export type ToolDefinition<Input extends InputSchema = InputSchema> = ToolSpec<Input> & Defined<'tool'>;

/** Defines a tool that a model can call. The server validates the arguments by `input` before a handler gets them. */
export function defineTool<const Input extends InputSchema>(spec: ToolSpec<Input>): ToolDefinition<Input> {
  return define('tool', spec);
}
