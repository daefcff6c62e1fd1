import { Injectable } from '@nestjs/common';

import { OutboundHostsRepository } from '#integrations';
import { GuardedFetch, Redactor, systemClock } from '#platform';
import { Hooks, PluginContexts, ToolCatalog } from '#tools';

import { createNodeRegistry } from '../nodes/create-node-registry.js';
import { LoopCondition } from '../nodes/loop-condition.js';
import { PluginNodes } from '../plugin-nodes/plugin-nodes.js';
import { MemoryRepository } from './memory.repository.js';

/** Services that all node runs share. */
@Injectable()
export class NodeServices {
  readonly registry = createNodeRegistry(systemClock);
  readonly condition = new LoopCondition();

  constructor(
    readonly catalog: ToolCatalog,
    readonly memory: MemoryRepository,
    readonly hosts: OutboundHostsRepository,
    readonly fetch: GuardedFetch,
    readonly redactor: Redactor,
    readonly plugins: PluginNodes,
    readonly contexts: PluginContexts,
    readonly hooks: Hooks,
  ) {}
}
