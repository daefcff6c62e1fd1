import type { ChatMessage } from '#models';

import type { NodeError, NodeKey, NodeRunRow } from './node-run.js';

/** The commands for the runner, to be executed in this order. */
export type RunCommand =
  /** Execute the node. `isNew`: its row (`active`) is not stored yet. The runner reports `settled`, `failed` or `waiting`. */
  | { readonly type: 'run'; readonly run: NodeRunRow; readonly isNew: boolean }
  /** Store the row: a container began or continued, or a node run ended, waits or was skipped. */
  | { readonly type: 'store'; readonly run: NodeRunRow }
  | DecideCommand
  /** List the items of a map. The runner reports `listed`, `failed` or `waiting`. */
  | { readonly type: 'list'; readonly run: NodeRunRow }
  /** Shows viewers that a loop begins an iteration. The row stored just before contains its number. */
  | { readonly type: 'iterate'; readonly key: NodeKey; readonly iteration: number; readonly of: number }
  /** Stop these node runs and ignore their reports. Their cancelled rows are stored next. */
  | { readonly type: 'cancel'; readonly keys: readonly NodeKey[] }
  | { readonly type: 'warn'; readonly key: NodeKey; readonly code: string; readonly text: string }
  /** The step limit is reached and more nodes are ready. The runner reports `stopped`, or the job waits and a later engine has a higher limit. */
  | { readonly type: 'exhausted'; readonly maxSteps: number }
  /** The last command of a run. */
  | { readonly type: 'end'; readonly result: RunResult };

/** Decide whether a loop continues, by its condition or a registered evaluator. The runner reports `decided`, `failed` or `waiting`. */
export interface DecideCommand {
  readonly type: 'decide';
  readonly run: NodeRunRow;
  /** The number of the next iteration, from 1. */
  readonly iteration: number;
  /** The loop's input, later the output of the last iteration. */
  readonly current: string;
  /** The outputs of the earlier iterations. */
  readonly outputs: readonly string[];
}

/** Why a run failed. `nodeId` is a node of the top level, from which a new run can start; null: no node of the top level failed. */
export interface RunError {
  readonly message: string;
  readonly code: string;
  readonly nodeId: string | null;
  readonly nodeLabel: string | null;
  readonly nodeType: string | null;
  readonly statusCode?: number;
  readonly retry?: NodeError['retry'];
}

/** How a run ended. The runner adds times and usage. */
export interface RunResult {
  readonly status: 'completed' | 'failed' | 'cancelled';
  readonly success: boolean;
  readonly output: string;
  readonly finalOutput: string;
  readonly finalNodeId: string | null;
  /** Outputs of the nodes of the top level. */
  readonly nodeOutputs: Readonly<Record<string, string>>;
  readonly executionOrder: readonly string[];
  readonly lastActiveNodeId: string | null;
  readonly sessionMessages: readonly ChatMessage[];
  readonly error: RunError | null;
}
