import type { ChatMessage } from '#models';

import type { NodeError, NodeKey, NodeRunRow } from './node-run.js';

/** What the runner has to do, in this order. */
export type RunCommand =
  /** Have its executor work. `isNew`: its row (`active`) is not stored yet. Answered by `settled`, `failed` or `waiting`. */
  | { readonly type: 'run'; readonly run: NodeRunRow; readonly isNew: boolean }
  /** Store the row: a container began or continued, or a node run ended, waits or was skipped. */
  | { readonly type: 'store'; readonly run: NodeRunRow }
  | DecideCommand
  /** Find the items of a map. Answered by `listed`, `failed` or `waiting`. */
  | { readonly type: 'list'; readonly run: NodeRunRow }
  /** A loop begins a pass: for viewers. Its row, stored just before, counts it. */
  | { readonly type: 'iterate'; readonly key: NodeKey; readonly iteration: number; readonly of: number }
  /** Stop these node runs and ignore their reports. Their cancelled rows are stored next. */
  | { readonly type: 'cancel'; readonly keys: readonly NodeKey[] }
  | { readonly type: 'warn'; readonly key: NodeKey; readonly code: string; readonly text: string }
  /** The step limit is reached and more nodes are ready. Answered by `granted` or `stopped`. */
  | { readonly type: 'exhausted'; readonly maxSteps: number }
  /** The last one of a run. */
  | { readonly type: 'end'; readonly result: RunResult };

/** Ask whether a loop continues: a condition, or a registered evaluator. Answered by `decided`, `failed` or `waiting`. */
export interface DecideCommand {
  readonly type: 'decide';
  readonly run: NodeRunRow;
  /** Of the pass in question, from 1. */
  readonly iteration: number;
  /** The loop's input, later the output of the last pass. */
  readonly current: string;
  /** Of the passes so far. */
  readonly outputs: readonly string[];
}

/** Why a run failed. `nodeId` is one of the top, from where it can be run again; null: no node of its own. */
export interface RunError {
  readonly message: string;
  readonly code: string;
  readonly nodeId: string | null;
  readonly nodeLabel: string | null;
  readonly nodeType: string | null;
  readonly statusCode?: number;
  readonly retry?: NodeError['retry'];
}

/** How a run ended; what the clock and the meter know is added by the runner. */
export interface RunResult {
  readonly status: 'completed' | 'failed' | 'cancelled';
  readonly success: boolean;
  readonly output: string;
  readonly finalOutput: string;
  readonly finalNodeId: string | null;
  /** Of the nodes of the top. */
  readonly nodeOutputs: Readonly<Record<string, string>>;
  readonly executionOrder: readonly string[];
  readonly lastActiveNodeId: string | null;
  readonly sessionMessages: readonly ChatMessage[];
  readonly error: RunError | null;
}
