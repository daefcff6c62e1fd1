import { Inject, Injectable, Module } from '@nestjs/common';
import { LRUCache } from 'lru-cache';

import { LOGGER, type Logger } from '#platform';
import {
  PluginContexts,
  PluginsModule,
  type Tool,
  ToolCatalog,
  ToolRegistryModule,
  type WorkspaceToolSource,
} from '#tools';

import { SecretsModule } from '../secrets/secrets.module.js';
import { WorkspaceSecrets } from '../secrets/workspace-secrets.service.js';
import { HttpToolExecutor } from './http-tool.executor.js';
import { readStoredHttpTool } from './http-tool.js';
import { HttpToolTrials } from './http-tool-trial.service.js';
import { OutboundHostsRepository } from './outbound-hosts.repository.js';
import { OutboundHosts } from './outbound-hosts.service.js';
import { toTool } from './to-tool.js';
import { type ToolVersionRef, WorkspaceToolsRepository } from './workspace-tools.repository.js';
import { WorkspaceToolsService } from './workspace-tools.service.js';

const maxRemembered = 10_000;

/** Null: the stored version cannot be used. */
interface MadeTool {
  readonly tool: Tool | null;
}

/** Provides the HTTP tools of a workspace to the catalog. A version never changes, so each version is read and compiled once. */
@Injectable()
export class HttpToolSource implements WorkspaceToolSource {
  readonly name = 'http';
  private readonly made = new LRUCache<string, MadeTool>({ max: maxRemembered });

  constructor(
    private readonly tools: WorkspaceToolsRepository,
    private readonly executor: HttpToolExecutor,
    @Inject(LOGGER) private readonly logger: Logger,
    catalog: ToolCatalog,
  ) {
    catalog.addSource(this);
  }

  async toolsOf(workspaceId: string): Promise<readonly Tool[]> {
    const usable = await this.tools.usable(workspaceId);
    const made = new Map(usable.map((ref) => [keyOf(ref), this.made.get(keyOf(ref))]));
    const fresh = usable.filter((ref) => made.get(keyOf(ref)) === undefined);
    for (const row of await this.tools.definitions(workspaceId, fresh)) {
      const version = { tool: this.make(workspaceId, row) };
      made.set(keyOf(row), version);
      this.made.set(keyOf(row), version);
    }
    return [...made.values()].flatMap((version) => version?.tool ?? []);
  }

  private make(workspaceId: string, row: ToolVersionRef & { readonly definition: unknown }): Tool | null {
    const { id, version } = row;
    const definition = readStoredHttpTool(row.definition);
    if (definition !== null) return toTool({ id, version, definition }, this.executor);
    // The other tools of the workspace remain available.
    this.logger.warn({ workspaceId, toolId: id, version }, 'a stored tool cannot be used');
    return null;
  }
}

function keyOf({ id, version }: ToolVersionRef): string {
  return `${id}@${version}`;
}

/** HTTP tools as a source of tools. Plugins use the same secrets and hosts. Requires a global `PlatformModule`. */
@Module({
  imports: [PluginsModule, SecretsModule, ToolRegistryModule],
  providers: [
    HttpToolExecutor,
    HttpToolSource,
    HttpToolTrials,
    OutboundHosts,
    OutboundHostsRepository,
    WorkspaceToolsRepository,
    WorkspaceToolsService,
  ],
  exports: [HttpToolTrials, OutboundHosts, OutboundHostsRepository, SecretsModule, WorkspaceToolsService],
})
export class HttpToolsModule {
  constructor(plugins: PluginContexts, secrets: WorkspaceSecrets, hosts: OutboundHostsRepository) {
    plugins.use({
      secretsOf: (workspaceId, names) => secrets.resolve(workspaceId, names),
      hostsOf: (workspaceId) => hosts.of(workspaceId),
    });
  }
}
