import { Module } from '@nestjs/common';

import { IntegrationsModule } from '../integrations.module.js';
import { McpServersResolver } from './mcp/mcp-servers.resolver.js';
import { WorkspaceSecretsResolver } from './secrets/workspace-secrets.resolver.js';
import { OutboundHostsResolver } from './tools/outbound-hosts.resolver.js';
import { ToolTrialsResolver } from './tools/tool-trials.resolver.js';
import { WorkspaceToolsResolver } from './tools/workspace-tools.resolver.js';

/** The GraphQL API of HTTP tools, MCP servers, secrets and outbound hosts. */
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
