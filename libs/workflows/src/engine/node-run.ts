/** Where a node run stands: `pending → active → (waiting →)? completed | error | skipped | cancelled`. */
export type NodeRunStatus = 'pending' | 'active' | 'waiting' | 'completed' | 'error' | 'skipped' | 'cancelled';

/** Which run it is, unique in its job. */
export interface NodeKey {
  /** As reported: `sf:<subflow node>|<id>` inside subflows (nested: `sf:a|sf:b|<id>`). */
  readonly nodeId: string;
  /** Numbers of the enclosing loop passes and map items, from 1, outermost first. */
  readonly iteration: readonly number[];
}

/** Error classes of nodes; what retry rules name. */
export type NodeErrorCode =
  | ('RATE_LIMIT' | 'AUTH' | 'TIMEOUT' | 'VALIDATION' | 'LLM_ERROR' | 'NETWORK' | 'UNKNOWN')
  /** A hook of a plugin decided; no retry rule names these. */
  | ('hook_denied' | 'hook_failed');

/** How a hook ended a node run before its node ran. */
export type HookedEnd =
  | { readonly type: 'skipped'; readonly reason: string }
  | { readonly type: 'failed'; readonly code: 'hook_denied' | 'hook_failed'; readonly reason: string };

/** The codes of failures that time alone may end. */
const passing: ReadonlySet<string> = new Set<NodeErrorCode>(['RATE_LIMIT', 'TIMEOUT', 'NETWORK']);

/** Whether the same work may succeed later without a change. */
export function isPassingCode(code: string): boolean {
  return passing.has(code);
}

/** Why a node failed, as its `<id>_error` output reports it: without a stack. */
export interface NodeError {
  readonly message: string;
  readonly code: NodeErrorCode;
  readonly nodeId: string;
  readonly statusCode?: number;
  readonly retry?: {
    readonly attempts: number;
    readonly maxAttempts: number;
    readonly history: readonly { readonly attempt: number; readonly code: NodeErrorCode; readonly message: string }[];
  };
  readonly rateLimit?: { readonly retryAfterMs: number };
}

/** The route a router chose. */
export interface ChosenRoute {
  readonly selectedRoute: string;
  readonly selectedNodeId: string;
  readonly selectedName: string;
  readonly reasoning: string;
  readonly fallbackUsed: boolean;
}

/** What else is known of a node run; small. */
export interface NodeExtra {
  readonly route?: ChosenRoute;
  /** More named outputs: `<node>:<branch>` and `<id>_error`. */
  readonly outputs?: Readonly<Record<string, string>>;
  /** Of a loop: passes that were begun. Of a map: its items. */
  readonly iterations?: number;
  /** The run took it over from an earlier run and did not execute it. */
  readonly isReused?: boolean;
  /** Retries used, after the first try. */
  readonly retries?: number;
  /** Of a node of a plugin: attempts that were begun, those of earlier workers included. */
  readonly attempts?: number;
  /** The hooks before the node have run: they do not run again. `end`: they ended the node run. The input of the row has their changes. */
  readonly hooks?: { readonly end?: HookedEnd };
  /** Reviews that were rejected. */
  readonly rejections?: number;
  /** Shown when the output does not reveal the outcome: `HITL: Skipped`. */
  readonly note?: string;
}

/** What a finished node hands on. */
export interface Settlement {
  readonly output: string;
  /** Output handles whose edges it takes; edges without a handle belong to `output` (a loop's to `done`). */
  readonly handles: readonly string[];
  /** What its successors read: its output, its own input, or nothing. */
  readonly handOn: 'output' | 'input' | 'nothing';
  readonly extra?: NodeExtra;
}

/** A node run as it is stored, and replayed after a crash. */
export interface NodeRunRow extends NodeKey {
  /** In the order in which they were begun, from 1, without gaps; the same after a crash. */
  readonly ordinal: number;
  /** Ids of the nodes it runs inside of, outermost first. */
  readonly path: readonly string[];
  readonly type: string;
  readonly label: string;
  readonly status: NodeRunStatus;
  readonly input: string;
  /** Null until it is finished; and of one that was skipped or cancelled. */
  readonly output: string | null;
  readonly handles: readonly string[] | null;
  readonly handOn: Settlement['handOn'];
  readonly extra: NodeExtra;
  readonly error: NodeError | null;
}

const finished: ReadonlySet<NodeRunStatus> = new Set(['completed', 'error', 'skipped', 'cancelled']);

export function isFinished(status: NodeRunStatus): boolean {
  return finished.has(status);
}

/** Whether the output is an agent's response, and not a description of the outcome. */
export function spoke({ type, status, output, extra }: NodeRunRow): boolean {
  return type === 'agent' && status === 'completed' && output !== '' && extra.note === undefined;
}
