/** The status of a node run: `pending → active → (waiting →)? completed | error | skipped | cancelled`. */
export type NodeRunStatus = 'pending' | 'active' | 'waiting' | 'completed' | 'error' | 'skipped' | 'cancelled';

/** Identifies a node run within its job. */
export interface NodeKey {
  /** The id in reports: `sf:<subflow node>|<id>` inside subflows (nested: `sf:a|sf:b|<id>`). */
  readonly nodeId: string;
  /** Numbers of the enclosing loop iterations and map items, from 1, outermost first. */
  readonly iteration: readonly number[];
}

/** Error classes of nodes, which retry rules name. */
export type NodeErrorCode =
  | ('RATE_LIMIT' | 'AUTH' | 'TIMEOUT' | 'VALIDATION' | 'LLM_ERROR' | 'NETWORK' | 'UNKNOWN')
  /** A plugin hook decided; no retry rule names these. */
  | ('hook_denied' | 'hook_failed');

/** How a hook ended a node run before its node was executed. */
export type HookedEnd =
  | { readonly type: 'skipped'; readonly reason: string }
  | { readonly type: 'failed'; readonly code: 'hook_denied' | 'hook_failed'; readonly reason: string };

/** Codes of failures that may end without any change. */
const transient: ReadonlySet<string> = new Set<NodeErrorCode>(['RATE_LIMIT', 'TIMEOUT', 'NETWORK']);

/** Returns whether the same work may succeed later without a change. */
export function isTransientCode(code: string): boolean {
  return transient.has(code);
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

/** Further facts about a node run; small. */
export interface NodeExtra {
  readonly route?: ChosenRoute;
  /** More named outputs: `<node>:<branch>` and `<id>_error`. */
  readonly outputs?: Readonly<Record<string, string>>;
  /** The begun iterations of a loop, or the items of a map. */
  readonly iterations?: number;
  /** The result is that of an earlier run; this run did not execute the node. */
  readonly isReused?: boolean;
  /** Retries used, after the first try. */
  readonly retries?: number;
  /** The begun attempts of a plugin node, including those of earlier workers. */
  readonly attempts?: number;
  /** The hooks before the node have run and do not run again; the row's input contains their changes. `end`: they ended the node run. */
  readonly hooks?: { readonly end?: HookedEnd };
  /** How many reviews were rejected. */
  readonly rejections?: number;
  /** Shown when the output does not reveal the outcome: `HITL: Skipped`. */
  readonly note?: string;
}

/** The result of a finished node. */
export interface Settlement {
  readonly output: string;
  /** Output handles whose edges the run takes; edges without a handle belong to `output` (a loop's to `done`). */
  readonly handles: readonly string[];
  /** What its successors read: its output, its own input, or nothing. */
  readonly handOn: 'output' | 'input' | 'nothing';
  readonly extra?: NodeExtra;
}

/** A node run as it is stored, and replayed after a crash. */
export interface NodeRunRow extends NodeKey {
  /** Numbers the node runs in the order of their begin, from 1, without gaps; a crash does not change it. */
  readonly ordinal: number;
  /** Ids of the nodes it runs inside of, outermost first. */
  readonly path: readonly string[];
  readonly type: string;
  readonly label: string;
  readonly status: NodeRunStatus;
  readonly input: string;
  /** Null until the node run has ended, and for skipped and cancelled ones. */
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
