import { Module } from '@nestjs/common';

import { ToolRegistryModule } from '#tools';

import { SecretsModule } from '../secrets/secrets.module.js';
import { McpGateway } from './mcp-gateway.js';
import { McpListingsRepository } from './mcp-listings.repository.js';
import { McpServersRepository } from './mcp-servers.repository.js';
import { McpServersService } from './mcp-servers.service.js';
import { McpToolSource } from './mcp-tool.source.js';

/** MCP servers as a source of tools. */
@Module({
  imports: [SecretsModule, ToolRegistryModule],
  providers: [McpGateway, McpListingsRepository, McpServersRepository, McpServersService, McpToolSource],
  exports: [McpServersService],
})
export class McpModule {}
