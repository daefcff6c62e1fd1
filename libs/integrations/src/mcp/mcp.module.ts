import { Injectable, Module, type OnModuleInit } from '@nestjs/common';

import { Config } from '#platform';
import { defineTool, type Tool, ToolCatalog, ToolRegistryModule, type WorkspaceToolSource } from '#tools';

import { SecretsModule } from '../secrets/secrets.module.js';
import { descriptionOf, problemOf } from './mcp-definition.js';
import { effectOf } from './mcp-effect.js';
import { SERVER_OFF, TOOL_CHANGED, TOOL_GONE } from './mcp-failure.js';
import { McpGateway } from './mcp-gateway.js';
import { type McpAcceptedTool, McpListingsRepository } from './mcp-listings.repository.js';
import type { McpToolStatus } from './mcp-server.js';
import { McpServersRepository } from './mcp-servers.repository.js';
import { McpServersService } from './mcp-servers.service.js';
import { offeredName } from './offered-name.js';

const WITHDRAWALS: Readonly<Record<McpToolStatus, string | null>> = {
  new: SERVER_OFF,
  accepted: null,
  changed: TOOL_CHANGED,
  gone: TOOL_GONE,
};

/**
 * Provides the accepted tools of a workspace's MCP servers, as `server.tool`. Tools whose server is disabled, or whose definition has
 * changed, are listed as disabled: they are never offered, and a job that had the offer gets the reason.
 */
@Injectable()
class McpToolSource implements WorkspaceToolSource, OnModuleInit {
  readonly name = 'MCP servers';

  constructor(
    private readonly listings: McpListingsRepository,
    private readonly gateway: McpGateway,
    private readonly catalog: ToolCatalog,
    private readonly config: Config,
  ) {}

  onModuleInit(): void {
    this.catalog.addSource(this);
  }

  async toolsOf(workspaceId: string): Promise<readonly Tool[]> {
    const tools = new Map<string, Tool>();
    for (const accepted of await this.listings.accepted(workspaceId)) {
      if (accepted.settings.transport === 'stdio' && !this.config.values.MCP_STDIO) continue;
      if (problemOf(accepted) !== null) continue;
      const tool = this.toTool(workspaceId, accepted);
      if (!tools.has(tool.name)) tools.set(tool.name, tool);
    }
    return [...tools.values()];
  }

  private toTool(workspaceId: string, accepted: McpAcceptedTool): Tool {
    const { serverId, serverName, settings, enabled, status, definition, hash } = accepted;
    const withdrawal = enabled ? WITHDRAWALS[status] : SERVER_OFF;
    return defineTool({
      name: offeredName(serverName, definition.name),
      description: descriptionOf(definition, serverName),
      input: definition.inputSchema,
      runtime: 'server',
      sort: 'mcp',
      version: hash,
      effect: effectOf(definition, settings),
      isolation: settings.isolated ? 'queue' : 'worker',
      ...(withdrawal === null ? {} : { withdrawn: withdrawal }),
      ...(settings.timeoutMs === null ? {} : { timeoutMs: settings.timeoutMs }),
      execute: (args, context) =>
        this.gateway.call({ workspaceId, serverId, definition, hash, arguments: args, context }),
    });
  }
}

/** MCP servers as a source of tools. */
@Module({
  imports: [SecretsModule, ToolRegistryModule],
  providers: [McpGateway, McpListingsRepository, McpServersRepository, McpServersService, McpToolSource],
  exports: [McpServersService],
})
export class McpModule {}
