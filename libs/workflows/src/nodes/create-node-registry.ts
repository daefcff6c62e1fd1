import type { Clock } from '#platform';

import { type NodeType, nodeTypes } from '../definition/node-types.js';
import type { NodeExecutor } from '../engine/node-executor.js';
import { agentNode } from './agent.node.js';
import { approvalNode } from './approval.node.js';
import { httpNode } from './http.node.js';
import { inputNode } from './input.node.js';
import { memoryNode } from './memory.node.js';
import { outputNode } from './output.node.js';
import { createParallelNode } from './parallel.node.js';
import { pluginNode } from './plugin.node.js';
import { routerNode } from './router.node.js';
import { schemaValidationNode } from './schema-validation.node.js';
import { startNode } from './start.node.js';
import { toolNode } from './tool.node.js';
import { transformNode } from './transform.node.js';
import { waitNode } from './wait.node.js';

/** Container nodes, which the engine runs itself. */
const containers: ReadonlySet<NodeType> = new Set(['whileLoop', 'subflow', 'map']);

/** The executors by node type. */
export class NodeRegistry {
  private readonly executors = new Map<NodeType, NodeExecutor>();

  /** Throws if a type has no executor or more than one, so that the process does not start. */
  constructor(executors: readonly NodeExecutor[]) {
    for (const executor of executors) {
      if (containers.has(executor.type)) throw new Error(`Nodes of type "${executor.type}" are run by the engine`);
      if (this.executors.has(executor.type)) throw new Error(`Two executors for nodes of type "${executor.type}"`);
      this.executors.set(executor.type, executor);
    }
    const missing = nodeTypes.filter((type) => !containers.has(type) && !this.executors.has(type));
    if (missing.length > 0) throw new Error(`No executor for nodes of type "${missing.join('", "')}"`);
  }

  /** Throws for a container. */
  executorOf(type: NodeType): NodeExecutor {
    const executor = this.executors.get(type);
    if (executor === undefined) throw new Error(`Nodes of type "${type}" are run by the engine`);
    return executor;
  }
}

/** The executors of all built-in node types. */
export function createNodeRegistry(clock: Clock): NodeRegistry {
  return new NodeRegistry([
    startNode,
    agentNode,
    routerNode,
    createParallelNode(clock),
    outputNode,
    toolNode,
    memoryNode,
    schemaValidationNode,
    approvalNode,
    inputNode,
    waitNode,
    httpNode,
    transformNode,
    pluginNode,
  ]);
}
