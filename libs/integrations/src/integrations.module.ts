import { Module } from '@nestjs/common';

import { HttpToolsModule } from './http/http-tools.module.js';
import { McpModule } from './mcp/mcp.module.js';
import { WebToolsModule } from './web/web-tools.module.js';

/** Tools that reach other systems: HTTP tools, MCP servers and the web. Requires a global `PlatformModule`. */
@Module({ imports: [HttpToolsModule, McpModule, WebToolsModule], exports: [HttpToolsModule, McpModule] })
export class IntegrationsModule {}
