import { Module } from '@nestjs/common';

import { IntegrationsModule } from '../integrations.module.js';
import { McpServersResolver } from './mcp/mcp-servers.resolver.js';
import { WorkspaceSecretsResolver } from './secrets/workspace-secrets.resolver.js';
import { OutboundHostsResolver } from './tools/outbound-hosts.resolver.js';
import { ToolTrialsResolver } from './tools/tool-trials.resolver.js';
import { WorkspaceToolsResolver } from './tools/workspace-tools.resolver.js';

/** HTTP tools, MCP servers, secrets and outbound hosts of a workspace. */
@Module({
  imports: [IntegrationsModule],
  providers: [
    McpServersResolver,
    OutboundHostsResolver,
    ToolTrialsResolver,
    WorkspaceSecretsResolver,
    WorkspaceToolsResolver,
  ],
})
export class IntegrationsApiModule {}
