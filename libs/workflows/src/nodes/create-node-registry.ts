import type { Clock } from '#platform';

import { agentNode } from './agent.node.js';
import { approvalNode } from './approval.node.js';
import { httpNode } from './http.node.js';
import { inputNode } from './input.node.js';
import { memoryNode } from './memory.node.js';
import { NodeRegistry } from './node-registry.js';
import { outputNode } from './output.node.js';
import { createParallelNode } from './parallel.node.js';
import { pluginNode } from './plugin.node.js';
import { routerNode } from './router.node.js';
import { schemaValidationNode } from './schema-validation.node.js';
import { startNode } from './start.node.js';
import { toolNode } from './tool.node.js';
import { transformNode } from './transform.node.js';
import { waitNode } from './wait.node.js';

/** Who does the work of every type of node there is. */
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
