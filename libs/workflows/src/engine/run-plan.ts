import type { ChatMessage } from '#models';

import type { WorkflowGraph } from '../definition/graph.js';
import type { Attachment } from './node-executor.js';
import type { NodeExtra, Settlement } from './node-run.js';

/** Everything a run depends on. Kept as it is for the whole life of the job: the same plan and the same rows give the same run. */
export interface RunPlan {
  readonly graph: WorkflowGraph;
  /** Pinned when the job started, by subflow id; also those that subflows name. */
  readonly subflows: ReadonlyMap<string, WorkflowGraph>;
  /** The user's text. */
  readonly input: string;
  readonly sessionId: string;
  /** Values of declared inputs, for templates of the top; absent: it was given none. */
  readonly inputs?: ReadonlyMap<string, unknown>;
  /** The conversation before it. */
  readonly history: readonly ChatMessage[];
  readonly attachments: readonly Attachment[];
  /** Nodes that may be executed, what was granted later included; null: as many as the engine allows. */
  readonly maxSteps: number | null;
  /** Absent: from the start node. */
  readonly resumeFrom?: ResumeFrom;
}

/** Where a run begins that takes over what an earlier one has done. */
export interface ResumeFrom {
  /** This node and all nodes after it run. */
  readonly startNodeId: string;
  /** What it reads; null: what its parents hand on, else the user's text. */
  readonly input: string | null;
  /** Nodes of the top that are not run again, in execution order; those that would run anyway are passed over. */
  readonly finished: readonly FinishedNode[];
  /** Nodes that had been reached and had not finished; they run too. */
  readonly pending: readonly string[];
  /** The session of the earlier run; null: the plan's history and the user's text. */
  readonly session: readonly ChatMessage[] | null;
}

/** A node of an earlier run, as it ended there. */
export interface FinishedNode {
  readonly nodeId: string;
  /** Empty where it is not known. */
  readonly input: string;
  readonly output: string;
  /** Null: not known; then all edges count as taken but those of failure and refusal. */
  readonly handles: readonly string[] | null;
  readonly handOn: Settlement['handOn'];
  readonly extra?: NodeExtra;
}
