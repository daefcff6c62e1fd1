import type { ClaimedJob, NewInterrupt, RunActivity, RunWrite } from '#jobs';

/** The node run of a workflow that a conversation belongs to. */
export interface ConversationNode {
  /** The number of the node run in its job. */
  readonly nodeRun: number;
  /** The node's id in events. */
  readonly nodeId: string;
  /** The enclosing nodes, outermost first. */
  readonly path: readonly string[];
  /** Distinguishes the conversations of one node run; null for its only one. */
  readonly branch: string | null;
}

/** The run of a job (`JobRun`), or the part of it that belongs to a node: a conversation writes through it. */
export interface CallingRun {
  readonly job: ClaimedJob;
  /** Absent for the job's own conversation. */
  readonly node?: ConversationNode;
  /** Aborts when the model calls and tools of the conversation must stop. */
  readonly signal: AbortSignal;
  /** The process drains: no further round may start. */
  readonly draining: boolean;
  /** The model responses and tools that the whole job waits for. */
  readonly activity: RunActivity;
  /** Aborts the whole job's run. */
  abort(reason: Error): void;
  assertValid(): void;
  text(round: number, text: string): Promise<void> | undefined;
  reasoning(round: number, text: string): Promise<void> | undefined;
  /** Ends the text of a round. Returns by how many UTF-16 units the content of the job has grown. */
  closeRound(round: number): number;
  restartRound(round: number, reason: string): void;
  append(write: RunWrite): void;
  commit(write?: RunWrite): Promise<void>;
  commitUnlessCancelled(write: RunWrite): Promise<void>;
}

/** A part of a run that belongs to one conversation of a node. */
export type NodeCallingRun = CallingRun & { readonly node: ConversationNode };

/** Adds the node of the conversation to a request, so that people see where it comes from. */
export function atNode(interrupt: NewInterrupt, node: ConversationNode | undefined): NewInterrupt {
  return node === undefined ? interrupt : { ...interrupt, nodeId: node.nodeId, path: node.path };
}
