import type { JobFailure } from '../job.js';
import type { JobStatus, TerminalStatus } from '../job.lifecycle.js';

/** Token counts of a round or of a whole job. */
export interface Usage {
  readonly promptTokens: number;
  readonly completionTokens: number;
  readonly totalTokens: number;
}

/** A tool call as every API shows it; long texts are truncated for display. */
export interface ToolCallItem {
  readonly id: string;
  readonly name: string;
  /** Wire form of the status. */
  readonly status: 'pending' | 'loading' | 'complete' | 'error' | 'skipped';
  /** JSON text: the arguments that the call runs with. */
  readonly args: string;
  /** The arguments that the model proposed, if a person edited them. */
  readonly proposedArgs?: string;
  readonly result?: string;
  readonly output?: string;
  readonly error?: string;
  /** For an error: whether the same call may succeed later. Rows and events contain it only if it is true. */
  readonly retryable?: boolean;
}

/** For an event about a node of a workflow; absent in jobs of other kinds. */
interface AtNode {
  /** The reported id: `sf:<subflow node>|<id>` inside subflows. */
  readonly nodeId?: string;
}

interface DeltaBody extends AtNode {
  readonly round: number;
  /** UTF-16 position of `text` in the content of the job, or in its reasoning. Absent: only the node shows the text. */
  readonly offset?: number;
  readonly text: string;
  readonly branchId?: string;
}

/** The status of a node run; the last four are final. */
export type NodeRunStatus = 'pending' | 'active' | 'waiting' | 'completed' | 'error' | 'skipped' | 'cancelled';

/** One execution of a workflow node. */
interface NodeRunBody {
  readonly nodeRunId: string;
  readonly nodeId: string;
  readonly label: string;
  readonly type: string;
  /** Ids of the enclosing nodes, outermost first. */
  readonly path: readonly string[];
  /** Iteration of the innermost loop, or item of the map, from 1. */
  readonly iteration?: number;
}

/** The route that a router took. */
export interface TakenRoute {
  readonly selectedRoute: string;
  readonly selectedNodeId: string;
  readonly selectedName: string;
  readonly reasoning: string;
  readonly fallbackUsed: boolean;
}

interface BranchBody {
  /** Distinguishes the branch from the same branch of other iterations and items; absent in older logs. */
  readonly nodeRunId?: string;
  readonly nodeId: string;
  readonly branchId: string;
  readonly label: string;
}

/**
 * The event vocabulary: a job's log contains these types and no others. Events are facts, named noun-what-happened. `seq`, `jobId`, `at`
 * and `attempt` are added when the event is stored. Readers ignore types that they do not know.
 */
export interface JobEventBodies {
  'job-queued': {
    readonly kind: string;
    readonly threadId: string | null;
    readonly messageId: string | null;
    readonly workflowId?: string;
    /** For a sub-job: the job whose tool call started it. */
    readonly parentJobId?: string;
    readonly queuePosition?: number;
    /** The changes that hooks made to the request; members as in `hook-applied`. */
    readonly appliedHooks?: readonly Pick<JobEventBodies['hook-applied'], 'hook' | 'on' | 'what' | 'reason'>[];
  };
  'job-started': { readonly epoch: number };
  /**
   * The agent that answers, if the job had to choose one; `agent` is its id. `fallback`: no agent matched, so the default agent answers.
   * `usage`: the tokens that the choice used; absent in logs of older builds.
   */
  'agent-selected': {
    readonly agent: string;
    readonly version: number;
    readonly name: string;
    readonly slug: string;
    readonly reasoning: string;
    readonly fallback: boolean;
    readonly usage?: Usage;
    readonly usageEstimated?: true;
  };
  'round-started': AtNode & { readonly round: number; readonly model: string };
  'text-delta': DeltaBody;
  'reasoning-delta': DeltaBody;
  /** Withdraws the text after `contentLength`, the reasoning after `reasoningLength`, and what the round showed at its node. */
  'round-restarted': AtNode & {
    readonly branchId?: string;
    readonly round: number;
    readonly reason: string;
    readonly contentLength: number;
    readonly reasoningLength: number;
  };
  /**
   * The model provider could not be used; nothing of the round was shown. `failures`: failed requests in a row. `delayMs`: from this event
   * to the next attempt, at `retryAt` (ms since the epoch). `waits`: the job releases its worker until then.
   */
  'model-retry': AtNode & {
    readonly round: number;
    readonly failures: number;
    readonly delayMs: number;
    readonly retryAt: number;
    readonly code: string;
    readonly reason: string;
    readonly waits: boolean;
  };
  'round-finished': {
    readonly round: number;
    readonly finishReason: string;
    readonly usage: Usage;
    /** The provider did not report the number of tokens. */
    readonly usageEstimated?: true;
    readonly toolCallIds: readonly string[];
  };
  'tool-call': AtNode & { readonly round: number; readonly internalStatus: string; readonly call: ToolCallItem };
  'tool-call-updated': AtNode & {
    readonly round: number;
    readonly internalStatus: string;
    readonly call: ToolCallItem;
  };
  /** `seqInCall`: 1, 2, 3 … within the call. For display only. */
  'tool-progress': {
    readonly callId: string;
    readonly seqInCall: number;
    readonly progress?: number;
    readonly total?: number;
    readonly message?: string;
    /** The sub-job that runs the call. */
    readonly subJobId?: string;
  };
  /**
   * A plugin hook changed or ended a step of the job; stored with the step. `what`: the members of its outcome, such as
   * `arguments` or `deny`, or `hook_failed`. `reason` is empty if the hook gave none.
   */
  'hook-applied': AtNode & {
    readonly hook: string;
    readonly on: string;
    readonly what: readonly string[];
    readonly reason: string;
    readonly round?: number;
    readonly callId?: string;
  };
  /** `request` depends on `kind`; `expiresAt` in ms since the epoch, null: never. */
  'interrupt-opened': AtNode & {
    readonly interruptId: string;
    readonly kind: string;
    readonly callId?: string;
    readonly title: string;
    readonly expiresAt: number | null;
    readonly request: Readonly<Record<string, unknown>>;
  };
  'interrupt-reminder': {
    readonly interruptId: string;
    readonly kind: string;
    readonly title: string;
    readonly expiresAt: number | null;
  };
  'interrupt-resolved': {
    readonly interruptId: string;
    readonly outcome: string;
    readonly decidedBy?: string;
    readonly decidedAt: number;
  };
  'job-waiting': { readonly interruptIds: readonly string[] };
  'job-requeued': { readonly reason: string };
  'node-started': NodeRunBody;
  /** For display only. */
  'node-progress': {
    readonly nodeRunId: string;
    readonly nodeId: string;
    readonly progress?: number;
    readonly total?: number;
    readonly message?: string;
  };
  /** `output` is truncated for display. */
  'node-finished': NodeRunBody & {
    readonly status: NodeRunStatus;
    readonly output: string;
    readonly error?: JobFailure;
    readonly tokenCount?: number;
    readonly route?: TakenRoute;
  };
  'branch-started': BranchBody;
  'branch-finished': BranchBody & {
    readonly status: NodeRunStatus;
    readonly output: string;
    readonly error?: string;
    /** For an error; events contain it only if it is true. */
    readonly retryable?: boolean;
  };
  'route-selected': {
    readonly nodeId: string;
    readonly routeId: string;
    readonly name: string;
    readonly reasoning: string;
    readonly fallbackUsed: boolean;
  };
  'loop-iteration': { readonly nodeId: string; readonly iteration: number; readonly maxIterations: number };
  warning: AtNode & { readonly code: string; readonly text: string };
  'job-cancel-requested': { readonly by: string; readonly reason: string };
  'job-finished': {
    readonly status: TerminalStatus;
    readonly reason: string;
    readonly error?: JobFailure;
    readonly content_length: number;
    readonly usage: Usage;
    readonly durationMs: number;
    readonly toolCalls: number;
    readonly rounds: number;
  };
}

export type JobEventType = keyof JobEventBodies;

/** An event before it has a number. */
export type NewJobEvent = {
  readonly [T in JobEventType]: { readonly type: T; readonly body: JobEventBodies[T] };
}[JobEventType];

/** An event of the log. `at` in ms since the epoch; `attempt`: how often shown text had been withdrawn before it. */
export type JobEvent = NewJobEvent & {
  readonly seq: number;
  readonly jobId: string;
  readonly at: number;
  readonly attempt: number;
};

/** The `attempt` of an event, from that of the event before it. */
export function attemptAt(before: number, type: string): number {
  return type === 'round-restarted' ? before + 1 : before;
}

/** The only types that are merged before they are written, and trimmed some time after the end of the job. */
export const deltaTypes = ['text-delta', 'reasoning-delta'] as const satisfies readonly JobEventType[];

export type Delta = Extract<NewJobEvent, { type: (typeof deltaTypes)[number] }>;

export function isDelta(event: NewJobEvent): event is Delta {
  return event.type === 'text-delta' || event.type === 'reasoning-delta';
}

/** The status of a job after this event; undefined if the event does not change it. */
export function statusAfter(event: NewJobEvent): JobStatus | undefined {
  switch (event.type) {
    case 'job-queued':
    case 'job-requeued':
      return 'queued';
    case 'job-started':
      return 'running';
    case 'job-waiting':
      return 'waiting';
    case 'job-finished':
      return event.body.status;
    case 'agent-selected':
    case 'round-started':
    case 'text-delta':
    case 'reasoning-delta':
    case 'round-restarted':
    case 'model-retry':
    case 'round-finished':
    case 'tool-call':
    case 'tool-call-updated':
    case 'tool-progress':
    case 'hook-applied':
    case 'interrupt-opened':
    case 'interrupt-reminder':
    case 'interrupt-resolved':
    case 'node-started':
    case 'node-progress':
    case 'node-finished':
    case 'branch-started':
    case 'branch-finished':
    case 'route-selected':
    case 'loop-iteration':
    case 'warning':
    case 'job-cancel-requested':
      return undefined;
  }
}

/**
 * Adds an event to the unwritten ones. A delta that continues the last delta of its round is merged into it, so a write adds one row for each
 * round that produces text, regardless of the number of pieces.
 */
export function mergeInto(pending: NewJobEvent[], event: NewJobEvent): void {
  for (let at = pending.length - 1; at >= 0 && isDelta(event); at--) {
    const earlier = pending[at];
    if (earlier === undefined || !isDelta(earlier)) break;
    if (continues(earlier, event)) {
      const text = earlier.body.text + event.body.text;
      pending[at] = { type: event.type, body: { ...earlier.body, text } };
      return;
    }
    // Text and reasoning of one round keep their order; deltas of other rounds may be skipped.
    if (earlier.body.round === event.body.round) break;
  }
  pending.push(event);
}

function continues({ type, body: earlier }: Delta, { type: nextType, body: next }: Delta): boolean {
  if (type !== nextType || earlier.round !== next.round) return false;
  const end = earlier.offset === undefined ? undefined : earlier.offset + earlier.text.length;
  return end === next.offset && earlier.nodeId === next.nodeId && earlier.branchId === next.branchId;
}
