import type { GraphNodeOf } from '../definition/graph.js';
import type { NodeType } from '../definition/node-types.js';
import type { NodeContext, NodeExecutor, NodeOutcome } from '../engine/node-executor.js';

/** A node of one type, what it may reach and what it sees. */
export type ContextOf<T extends NodeType> = NodeContext & { readonly node: GraphNodeOf<T> };

interface NodeDefinition<T extends NodeType> {
  readonly type: T;
  /** Default: never. */
  readonly isPure?: (data: GraphNodeOf<T>['data']) => boolean;
  readonly run: (context: ContextOf<T>) => NodeOutcome | Promise<NodeOutcome>;
}

/** The executor of one type of node, which is handed nodes of that type only. */
export function defineNode<T extends NodeType>({ type, isPure, run }: NodeDefinition<T>): NodeExecutor {
  return {
    type,
    // The registry goes by the type, and the graph has read the data by it.
    isPure: (node) => isPure?.(node.data as GraphNodeOf<T>['data']) ?? false,
    run: async (context) => run(context as ContextOf<T>), // likewise
    runNow: (context) => run(context as ContextOf<T>), // likewise
  };
}
