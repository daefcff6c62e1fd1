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

/** What a node sees of the run it is part of. Outputs of earlier waves only. */
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

/** One conversation with a model, its tools included. What it committed is not done again after a crash. */
export interface Conversing {
  /** Distinguishes the conversations of one node run: a branch, `__merge__`, `condition@2`, `review@1`. Absent: its only one. */
  readonly branch?: string;
  /** Whether its text is streamed under the node; conditions and routes are not. */
  readonly isShown: boolean;
  /** The agent that speaks, as the node names it: what it asks approval for, its limits, and what it leaves to clients hold. */
  readonly agent?: string;
  /** Null: the workspace's default. */
  readonly model: string | null;
  readonly messages: readonly ChatMessage[];
  /** Names of the server's tools it may call. `*`: all that the principal may use. */
  readonly tools: readonly string[];
  /** A tool that is not run: its arguments are the answer. */
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
  /** Calls that run elsewhere and have no request, by the names that chat gives them; absent: none. */
  readonly calls?: readonly string[];
}

export type Conversed =
  | { readonly type: 'answered'; readonly text: string; readonly captured: string | null }
  /** All permitted rounds asked for tools; `text` is the last round's. */
  | { readonly type: 'limit'; readonly text: string }
  | Waiting;

/** A question to a person; asked once per node run and `key`, however often the node is run. */
export interface Question {
  readonly key: string;
  /** Of the request, as its readers know it; absent: `hitl_<base36 time>_<random>`. Counts when it is asked first. */
  readonly requestId?: string;
  readonly mode: 'approval' | 'input' | 'review';
  readonly title: string;
  readonly prompt: string;
  readonly output?: string;
  readonly options?: readonly { readonly id: string; readonly label: string; readonly action: string }[];
  readonly inputSchema?: Readonly<Record<string, unknown>>;
  /** Whether an answer that continues must bring data and skipping is not allowed; else the node continues with its input. */
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
      /** Undefined: none was given. */
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

/** What a node may do outside of itself; all durable, all fenced. */
export interface NodePorts {
  converse(request: Conversing): Promise<Conversed>;
  ask(question: Question): Promise<PersonAnswer>;
  /** `arguments`: JSON text. */
  callTool(call: { readonly name: string; readonly arguments: string }): Promise<CalledTool>;
  /** The JSON Schema of a tool's arguments; undefined when the tool does not exist. */
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
   * Over at `at` (ms since the epoch; null: whenever the event comes), or with the event; `timedOut`: without one. Of a node run,
   * the first call counts. Holds no worker meanwhile.
   */
  waitFor(wait: {
    readonly at: number | null;
    readonly event: string | null;
  }): Promise<{ readonly type: 'over'; readonly timedOut: boolean; readonly data: unknown } | Waiting>;
  /**
   * Runs the code of a plugin; its output is text. Waits while no plugin defines the type, and for a person while it is unknown whether
   * an attempt of an earlier worker had its effect.
   */
  runPlugin(
    type: string,
    given: Readonly<Record<string, unknown>>,
  ): Promise<{ readonly type: 'finished'; readonly text: string } | Waiting>;
  warn(code: string, text: string): void;
  /** Both events are published once per branch of a node run, however often the methods are called. */
  branchStarted(branchId: string, label: string): void;
  branchFinished(
    branchId: string,
    label: string,
    end: { readonly output: string } | { readonly error: string; readonly retryable: boolean },
  ): void;
  /** Whether the model takes what is attached. */
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
  /** Aborts on the node's timeout, a failed sibling, a cancel, a lost lease. */
  readonly signal: AbortSignal;
}

export type NodeOutcome = ({ readonly type: 'finished' } & Settlement) | Waiting;

/** The work of one type of node. Called again after a crash or an answer, from the start: its ports remember. */
export interface NodeExecutor {
  readonly type: NodeType;
  /** Nothing outside learns of it: it may be run again, and is written once, when it has ended. */
  isPure(node: GraphNode): boolean;
  run(context: NodeContext): Promise<NodeOutcome>;
  /** The same, for pure nodes: what they give is there at once. */
  runNow?(context: NodeContext): NodeOutcome | Promise<NodeOutcome>;
}

/** A node that could not do its work. */
export class NodeFailure extends Error {
  constructor(
    message: string,
    readonly code: NodeErrorCode,
    /** `isFinal`: trying again gives the same. */
    readonly details: { readonly statusCode?: number; readonly retryAfterMs?: number; readonly isFinal?: boolean } = {},
  ) {
    super(message);
  }
}
