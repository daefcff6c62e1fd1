import type { ChatMessage, ModelParameters, ToolChoice, ToolDefinition } from '#models';

import type { GraphNode, WorkflowGraph } from '../definition/graph.js';
import type { NodeType } from '../definition/node-types.js';
import type { NodeErrorCode, NodeRunRow, Settlement } from './node-run.js';

/** An earlier node of the same scope, in execution order. */
export interface EarlierOutput {
  readonly nodeId: string;
  readonly label: string;
  readonly type: string;
  readonly output: string;
}

/** What a node sees of its run: the outputs of earlier waves only. */
export interface ScopeView {
  readonly workflowName: string;
  readonly sessionId: string;
  /** In execution order, `start` included. */
  readonly earlier: readonly EarlierOutput[];
  /** By node id (inside its own graph), `<node>:<branch>` and `<id>_error`. */
  readonly outputs: ReadonlyMap<string, string>;
  /** Values of the declared inputs of the subflow it is in; empty at the top. */
  readonly inputs: ReadonlyMap<string, unknown>;
  /** The session: the history given at the start, the user's text, then the agents' responses. */
  readonly session: readonly ChatMessage[];
  readonly attachments: readonly Attachment[];
}

export interface Attachment {
  readonly type: 'image' | 'audio' | 'video' | 'file';
  readonly url: string;
  readonly name?: string;
  readonly mimeType?: string;
}

/** One conversation with a model and its tools. After a crash, its committed rounds are not repeated. */
export interface Conversing {
  /** Distinguishes the conversations of one node run: a branch, `__merge__`, `condition@2`, `review@1`. Absent: the node run has only one. */
  readonly branch?: string;
  /** Whether the text is streamed as the node's text; the text of conditions and routers is not. */
  readonly isShown: boolean;
  /** The agent, by the name in the node. Its approvals, limits and client tools apply. */
  readonly agent?: string;
  /** Null: the workspace's default. */
  readonly model: string | null;
  readonly messages: readonly ChatMessage[];
  /** Names of the server's tools it may call. `*`: all that the principal may use. */
  readonly tools: readonly string[];
  /** A tool that does not run: its arguments are the response. */
  readonly capture?: ToolDefinition;
  readonly toolChoice?: ToolChoice;
  readonly parameters?: ModelParameters;
  /** Rounds with tool calls, >= 1. */
  readonly maxIterations: number;
  readonly signal?: AbortSignal;
}

/** What a node waits for before it can continue. */
export interface Waiting {
  readonly type: 'waiting';
  readonly interruptIds: readonly string[];
  /** Calls that run elsewhere and have no interrupt, each as `<round>:<ordinal>`; absent: none. */
  readonly calls?: readonly string[];
}

export type Conversed =
  | { readonly type: 'answered'; readonly text: string; readonly captured: string | null }
  /** The model requested tools in every permitted round; `text` is the text of the last round. */
  | { readonly type: 'limit'; readonly text: string }
  | Waiting;

/** A question to a person. A node run asks it once per `key`, however often its executor runs. */
export interface Question {
  readonly key: string;
  /** The id of the request in the API; absent: `hitl_<base36 time>_<random>`. Only the first call sets it. */
  readonly requestId?: string;
  readonly mode: 'approval' | 'input' | 'review';
  readonly title: string;
  readonly prompt: string;
  readonly output?: string;
  readonly options?: readonly { readonly id: string; readonly label: string; readonly action: string }[];
  readonly inputSchema?: Readonly<Record<string, unknown>>;
  /** If true, the answer must contain data or end the wait, and skipping is not allowed. Otherwise the node continues with its input. */
  readonly dataRequired?: boolean;
  /** 0 or absent: the workspace's default of 7 days. */
  readonly timeoutMs?: number;
  readonly defaultAction: 'approve' | 'reject' | 'skip' | 'timeout';
  readonly decidableBy?: 'requester' | 'approvers' | 'members';
  readonly fourEyes?: boolean;
}

export type PersonAnswer =
  | {
      readonly type: 'answered';
      readonly action: 'approve' | 'reject' | 'submit' | 'modify' | 'skip' | 'custom' | 'timeout';
      /** Undefined: the answer has no data. */
      readonly data: unknown;
    }
  | Waiting;

export type CalledTool = { readonly type: 'finished'; readonly status: string; readonly text: string } | Waiting;

export interface MemoryEntry {
  readonly text: string;
  readonly nodeId: string;
  /** ISO 8601. */
  readonly at: string;
}

/** The actions of a node outside the engine. All are durable and fenced. */
export interface NodePorts {
  converse(request: Conversing): Promise<Conversed>;
  ask(question: Question): Promise<PersonAnswer>;
  /** `arguments`: JSON text. */
  callTool(call: { readonly name: string; readonly arguments: string }): Promise<CalledTool>;
  /** Returns the JSON Schema of a tool's arguments; undefined: the tool does not exist. */
  toolSchema(name: string): Promise<Readonly<Record<string, unknown>> | undefined>;
  remember(text: string, metadata: Readonly<Record<string, unknown>>): Promise<void>;
  recall(query: {
    readonly text: string;
    readonly limit: number;
    readonly filter: Readonly<Record<string, unknown>>;
  }): Promise<readonly MemoryEntry[]>;
  fetch(request: {
    readonly method: string;
    readonly url: string;
    readonly headers: Readonly<Record<string, string>>;
    readonly body: string | null;
    readonly timeoutMs: number;
  }): Promise<{ readonly status: number; readonly text: string }>;
  /**
   * Waits until `at` (ms since the epoch; null: only for the event) or for the event, whichever is first; `timedOut`: there was no event. The first
   * call of a node run counts. The wait occupies no worker.
   */
  waitFor(wait: {
    readonly at: number | null;
    readonly event: string | null;
  }): Promise<{ readonly type: 'over'; readonly timedOut: boolean; readonly data: unknown } | Waiting>;
  /**
   * Runs the code of a plugin and returns its output as text. Waits while no plugin defines the type, and for a person if the outcome of an attempt
   * by an earlier worker is unknown.
   */
  runPlugin(
    type: string,
    given: Readonly<Record<string, unknown>>,
  ): Promise<{ readonly type: 'finished'; readonly text: string } | Waiting>;
  warn(code: string, text: string): void;
  /** Each of these two events is published once per branch of a node run, however often the executor runs. */
  branchStarted(branchId: string, label: string): void;
  branchFinished(
    branchId: string,
    label: string,
    end: { readonly output: string } | { readonly error: string; readonly retryable: boolean },
  ): void;
  /** Whether the model accepts the attachment. */
  modelTakes(model: string | null, type: Attachment['type']): Promise<boolean>;
  /** Ms since the epoch, by the worker's clock. */
  now(): number;
}

export interface NodeContext<Node extends GraphNode = GraphNode> {
  readonly node: Node;
  readonly graph: WorkflowGraph;
  readonly run: NodeRunRow;
  readonly input: string;
  readonly view: ScopeView;
  readonly ports: NodePorts;
  /** Aborts at the node's timeout, and if a sibling fails, the job is cancelled, or the lease is lost. */
  readonly signal: AbortSignal;
}

export type NodeOutcome = ({ readonly type: 'finished' } & Settlement) | Waiting;

/** Executes one type of node. After a crash or an answer it runs again from the start, and its ports return the stored results. */
export interface NodeExecutor {
  readonly type: NodeType;
  /** The node has no effect outside the run: it may run again, and only its end is stored. */
  isPure(node: GraphNode): boolean;
  run(context: NodeContext): Promise<NodeOutcome>;
  /** Runs a pure node, whose result is available at once. */
  runNow?(context: NodeContext): NodeOutcome | Promise<NodeOutcome>;
}

/** The node failed. */
export class NodeFailure extends Error {
  constructor(
    message: string,
    readonly code: NodeErrorCode,
    /** `isFinal`: a retry would fail in the same way. */
    readonly details: { readonly statusCode?: number; readonly retryAfterMs?: number; readonly isFinal?: boolean } = {},
  ) {
    super(message);
  }
}
