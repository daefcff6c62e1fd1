import type { GraphNodeOf } from '../definition/graph.js';
import type { NodeType } from '../definition/node-types.js';
import type { NodeContext, NodeExecutor, NodeOutcome } from '../engine/node-executor.js';

/** A node of one type, with its ports and its view of the run. */
export type ContextOf<T extends NodeType> = NodeContext & { readonly node: GraphNodeOf<T> };

interface NodeDefinition<T extends NodeType> {
  readonly type: T;
  /** Default: never. */
  readonly isPure?: (data: GraphNodeOf<T>['data']) => boolean;
  readonly run: (context: ContextOf<T>) => NodeOutcome | Promise<NodeOutcome>;
}

/** The executor of one type of node; it receives nodes of that type only. */
export function defineNode<T extends NodeType>({ type, isPure, run }: NodeDefinition<T>): NodeExecutor {
  return {
    type,
    // The registry selects by type, and the graph has parsed the data by the same type.
    isPure: (node) => isPure?.(node.data as GraphNodeOf<T>['data']) ?? false,
    run: async (context) => run(context as ContextOf<T>), // for the same reason
    runNow: (context) => run(context as ContextOf<T>), // for the same reason
  };
}
