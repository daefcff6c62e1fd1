import type { ClaimedJob, NewInterrupt, RunActivity, RunWrite } from '#jobs';

/** Which node run of a workflow a conversation belongs to. */
export interface ConversationNode {
  /** Its number in the job. */
  readonly nodeRun: number;
  /** As reported. */
  readonly nodeId: string;
  /** Nodes it runs inside of, outermost first. */
  readonly path: readonly string[];
  /** Tells the conversations of one node run apart; null: its only one. */
  readonly branch: string | null;
}

/** What a conversation writes through: the run of a job (`JobRun`), or the part of one that belongs to a node. */
export interface CallingRun {
  readonly job: ClaimedJob;
  /** Absent: it is the job's own conversation. */
  readonly node?: ConversationNode;
  /** Aborts when model calls and tools of the conversation have to stop. */
  readonly signal: AbortSignal;
  /** The process wants to stop: no further round is to be begun. */
  readonly draining: boolean;
  /** Of the whole job: what its conversations wait for. */
  readonly activity: RunActivity;
  /** Stops the whole job. */
  abort(reason: Error): void;
  assertValid(): void;
  text(round: number, text: string): Promise<void> | undefined;
  reasoning(round: number, text: string): Promise<void> | undefined;
  /** Gives by how many UTF-16 units the content of the job has grown. */
  closeRound(round: number): number;
  restartRound(round: number, reason: string): void;
  append(write: RunWrite): void;
  commit(write?: RunWrite): Promise<void>;
  commitUnlessCancelled(write: RunWrite): Promise<void>;
}

/** A part of a run that belongs to one conversation of a node. */
export type NodeCallingRun = CallingRun & { readonly node: ConversationNode };

/** A request as it is opened for a call of this conversation: people are told at which node it stands. */
export function atNode(interrupt: NewInterrupt, node: ConversationNode | undefined): NewInterrupt {
  return node === undefined ? interrupt : { ...interrupt, nodeId: node.nodeId, path: node.path };
}
