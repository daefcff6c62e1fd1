import type { NodeError, NodeExtra, NodeKey, Settlement } from './node-run.js';

/** The final failure of a node: no retry follows. */
export interface Failure {
  readonly error: Omit<NodeError, 'nodeId'>;
  readonly extra?: NodeExtra;
  /** The input of the node run after the changes of hooks; absent: hooks did not change it. */
  readonly input?: string;
}

/** An event from the runner. An event for a node run that is not running any more has no effect. */
export type RunEvent =
  /** A node succeeded. */
  | { readonly type: 'settled'; readonly key: NodeKey; readonly settlement: Settlement; readonly input?: string }
  /** The items of a map are known, each as text. */
  | { readonly type: 'listed'; readonly key: NodeKey; readonly items: readonly string[] }
  /** A node, the decision of a loop, or the listing of a map's items failed. */
  | ({ readonly type: 'failed'; readonly key: NodeKey } & Failure)
  /** The condition of a loop has a result. */
  | { readonly type: 'decided'; readonly key: NodeKey; readonly iteration: number; readonly continues: boolean }
  /** A node, or the decision of a loop, waits for an outside answer; its slot becomes free. */
  | { readonly type: 'waiting'; readonly key: NodeKey }
  /** The answer for a waiting node run has arrived, so it needs a slot again. */
  | { readonly type: 'resumed'; readonly key: NodeKey }
  /** A budget of the runner is used up: this engine assigns no slot any more. May come before the run is started. */
  | { readonly type: 'exhausted' }
  /** The run ends as failed: the request for more was not granted. */
  | { readonly type: 'stopped'; readonly code: string; readonly message: string }
  | { readonly type: 'cancelled' };
