import type { NodeError, NodeExtra, NodeKey, Settlement } from './node-run.js';

/** How an executor failed, for good: retries are over. */
export interface Failure {
  readonly error: Omit<NodeError, 'nodeId'>;
  readonly extra?: NodeExtra;
  /** The input of the node run, as hooks have changed it; absent: as it was. */
  readonly input?: string;
}

/** What happened outside. One that names a node run which is not at work (any more) changes nothing. */
export type RunEvent =
  /** A node did its work. */
  | { readonly type: 'settled'; readonly key: NodeKey; readonly settlement: Settlement; readonly input?: string }
  /** The items of a map are known, each as text. */
  | { readonly type: 'listed'; readonly key: NodeKey; readonly items: readonly string[] }
  /** A node failed, or a decision, or a list. */
  | ({ readonly type: 'failed'; readonly key: NodeKey } & Failure)
  /** The condition of a loop has been asked. */
  | { readonly type: 'decided'; readonly key: NodeKey; readonly iteration: number; readonly continues: boolean }
  /** A node, or a decision, waits for an outside answer: others may run in its slot. */
  | { readonly type: 'waiting'; readonly key: NodeKey }
  /** What it waited for is there; it is handed out again. */
  | { readonly type: 'resumed'; readonly key: NodeKey }
  /** A budget of the runner's is used up: until more is granted, nothing is handed out. May come before the run is started. */
  | { readonly type: 'exhausted' }
  /** A budget was raised; `steps`: how many more nodes may be executed. */
  | { readonly type: 'granted'; readonly steps?: number }
  /** The run ends as failed: the request for more was not granted. */
  | { readonly type: 'stopped'; readonly code: string; readonly message: string }
  | { readonly type: 'cancelled' };
