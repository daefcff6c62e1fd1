import type { GraphNode, WorkflowGraph } from '../definition/graph.js';
import type { NodeKey, NodeRunRow } from './node-run.js';
import type { ScopeMemory } from './scope-memory.js';

/** The part of its scope that a node run needs. */
export interface NodeRunScope {
  readonly graph: WorkflowGraph;
  readonly memory: ScopeMemory;
  /** The prefix of its nodes' ids in reports. */
  readonly prefix: string;
  /** Reported ids of the containers around it. */
  readonly path: readonly string[];
  readonly iteration: readonly number[];
  /** How many subflows are around it. */
  readonly depth: number;
  /** Called when a node run of this wave has ended. Its row contains the outcome. */
  ended(run: LiveRun): void;
}

/** The inside of a container: iterations of a loop, items of a map, or a subflow. */
export interface Container {
  begin(): void;
  /** The node runs at any depth that have begun, or wait for a slot, and have not ended. */
  unfinished(): Iterable<LiveRun>;
  /** What later nodes see of the inside; null: nothing. */
  readonly kept: ScopeMemory | null;
  decided?(iteration: number, continues: boolean): void;
  listed?(items: readonly string[]): void;
}

/** Whether a node run has a slot. */
export type SlotState = 'none' | 'queued' | 'taken' | 'waiting';

/** A node run that has not ended, or that belongs to the current wave. Only its row is stored. */
export class LiveRun {
  row: NodeRunRow;
  slot: SlotState = 'none';
  /** The engine ignores further reports of this run. */
  isOver = false;
  /** An earlier lease stored a row for it. */
  isKnown = false;
  container: Container | null = null;

  constructor(
    readonly node: GraphNode,
    readonly scope: NodeRunScope,
    input: string,
  ) {
    this.row = {
      nodeId: scope.prefix + node.id,
      iteration: scope.iteration,
      ordinal: 0,
      path: scope.path,
      type: node.typeName,
      label: node.label,
      status: 'pending',
      input,
      output: null,
      handles: null,
      handOn: 'output',
      extra: {},
      error: null,
    };
  }

  get key(): NodeKey {
    return { nodeId: this.row.nodeId, iteration: this.row.iteration };
  }
}

/** A key as text. */
export function textOf({ nodeId, iteration }: NodeKey): string {
  return `${iteration.join('.')}@${nodeId}`;
}
