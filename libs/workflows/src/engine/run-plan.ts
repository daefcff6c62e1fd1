import type { ChatMessage } from '#models';

import type { WorkflowGraph } from '../definition/graph.js';
import type { Attachment } from './node-executor.js';
import type { NodeExtra, Settlement } from './node-run.js';

/** All inputs of a run. They do not change while the job exists: the same plan and the same rows give the same run. */
export interface RunPlan {
  readonly graph: WorkflowGraph;
  /** The subflows in the versions pinned at the start of the job, by id, including subflows of subflows. */
  readonly subflows: ReadonlyMap<string, WorkflowGraph>;
  /** The user's text. */
  readonly input: string;
  readonly sessionId: string;
  /** Values of declared inputs, for templates of the top level; absent: the start had none. */
  readonly inputs?: ReadonlyMap<string, unknown>;
  /** The conversation before `input`. */
  readonly history: readonly ChatMessage[];
  readonly attachments: readonly Attachment[];
  /** Maximum nodes to execute, including grants; null: the limit of the engine. */
  readonly maxSteps: number | null;
  /** Absent: from the start node. */
  readonly resumeFrom?: ResumeFrom;
}

/** The start of a run that takes over the results of an earlier run. */
export interface ResumeFrom {
  /** This node and all nodes after it run. */
  readonly startNodeId: string;
  /** The input of the start node; null: the outputs of its sources, or else the user's text. */
  readonly input: string | null;
  /** Nodes of the top level that do not run again, in execution order. Nodes that run anyway are ignored. */
  readonly finished: readonly FinishedNode[];
  /** Nodes that had been reached and had not finished; they run too. */
  readonly pending: readonly string[];
  /** The session of the earlier run; null: the plan's history and the user's text. */
  readonly session: readonly ChatMessage[] | null;
}

/** The result of a node in the earlier run. */
export interface FinishedNode {
  readonly nodeId: string;
  /** Empty if it is unknown. */
  readonly input: string;
  readonly output: string;
  /** Null: unknown, so all edges count as taken except those for failure and rejection. */
  readonly handles: readonly string[] | null;
  readonly handOn: Settlement['handOn'];
  readonly extra?: NodeExtra;
}
