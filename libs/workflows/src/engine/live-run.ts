import type { GraphNode, WorkflowGraph } from '../definition/graph.js';
import type { NodeKey, NodeRunRow } from './node-run.js';
import type { ScopeMemory } from './scope-memory.js';

/** The scope that a node run belongs to, as the node run knows it. */
export interface Home {
  readonly graph: WorkflowGraph;
  readonly memory: ScopeMemory;
  /** Before the ids of its nodes, where they are reported. */
  readonly prefix: string;
  /** Reported ids of the nodes it runs inside of. */
  readonly path: readonly string[];
  readonly iteration: readonly number[];
  /** How many subflows it is inside of. */
  readonly depth: number;
  /** A node run of this wave has ended; its row holds the outcome. */
  ended(run: LiveRun): void;
}

/** What runs inside of a node run: passes of a loop, items of a map, a subflow. */
export interface Container {
  begin(): void;
  /** What has been begun in it or waits for a place, however deep, and has not ended. */
  unfinished(): Iterable<LiveRun>;
  /** What nodes after it remember of the inside; null: nothing. */
  readonly kept: ScopeMemory | null;
  decided?(iteration: number, continues: boolean): void;
  listed?(items: readonly string[]): void;
}

/** Where a node run stands with the places that there are. */
export type Place = 'none' | 'queued' | 'taken' | 'waiting';

/** A node run that has not ended, or one of the wave that is on. Its row is what is stored of it; the rest is not. */
export class LiveRun {
  row: NodeRunRow;
  place: Place = 'none';
  /** Nothing it does counts any more. */
  isOver = false;
  /** A row of it was stored in an earlier life. */
  isKnown = false;
  container: Container | null = null;

  constructor(
    readonly node: GraphNode,
    readonly home: Home,
    input: string,
  ) {
    this.row = {
      nodeId: home.prefix + node.id,
      iteration: home.iteration,
      ordinal: 0,
      path: home.path,
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

/** A key as one text. */
export function textOf({ nodeId, iteration }: NodeKey): string {
  return `${iteration.join('.')}@${nodeId}`;
}
