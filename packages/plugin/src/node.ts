import type { Progress, WorkContext } from './context.js';
import { define, type Defined } from './definition.js';
import type { InputOf, InputSchema } from './schema.js';
import type { ToolEffect } from './tool.js';

/** The context that the code of a node gets for a node run. */
export interface NodeContext extends WorkContext {
  readonly workflowId: string;
  /** The id of the node in the workflow. */
  readonly nodeId: string;
  /** The number of the node run in the job. */
  readonly nodeRun: number;
  /** The same for every attempt of this node run; send it along with any effect. */
  readonly idempotencyKey: string;
  /** 1 for the first attempt. Attempts of earlier workers count, except for a `pure` node, which starts at 1 again after a crash. */
  readonly attempt: number;
  /** The text that the incoming edges deliver. */
  readonly input: string;
  readonly progress: (progress: Progress) => void;
}

/** How a failed node run is repeated. */
export interface NodeRetry {
  /** Attempts in all, 1 to 10. */
  readonly attempts: number;
  /** Delay before the second attempt, in ms; doubles before each further one. Default 1,000. */
  readonly delayMs?: number;
}

/** A type of workflow node. */
export interface NodeSpec<Input extends InputSchema = InputSchema> {
  /** A namespace and a name, as in `acme.score`; unique in the installation. */
  readonly type: string;
  /** The name that people read. */
  readonly title: string;
  /** A description for people who build workflows. */
  readonly description?: string;
  /** A name of an icon, or a data URL of an image. */
  readonly icon?: string;
  /**
   * Describes the members of `data` of the node in a workflow; the console generates a form from it. Texts in `data` are templates. The
   * names `label`, `description`, `errorHandling`, `timeoutMs`, `hitl`, `permissions` and `status` are reserved, because every node has
   * them.
   */
  readonly input: Input;
  /** Describes the result of `run` (for a result with artifacts: the stored form). Any other value fails the node run. Default: any JSON value. */
  readonly output?: InputSchema;
  /**
   * The effect of running the node again. `pure` and `idempotent` nodes run again after a crash, with the same idempotency key. For a
   * `once` node (the default), a person decides whether it had its effect.
   */
  readonly effect?: ToolEffect;
  /** Default: one attempt. A workflow may set its own `errorHandling.retry`. */
  readonly retry?: NodeRetry;
  /** Ms until an attempt is aborted; default: TOOL_TIMEOUT_MS. A workflow may set its own `timeoutMs`. */
  readonly timeoutMs?: number;
  /** Returns the output: text, JSON or a `ResultWithArtifacts`. Throws to fail the node run. `data` matches `input`. */
  run(context: NodeContext, data: InputOf<Input>): unknown;
}

/** A workflow node of a plugin. */
export type NodeDefinition<Input extends InputSchema = InputSchema> = NodeSpec<Input> & Defined<'node'>;

/** Defines a type of workflow node. */
export function defineNode<const Input extends InputSchema>(spec: NodeSpec<Input>): NodeDefinition<Input> {
  return define('node', spec);
}
