import { Module, type OnModuleInit } from '@nestjs/common';
import { DiscoveryModule, DiscoveryService } from '@nestjs/core';

import { FeatureFlagsModule } from '#auth';

import { BUILTIN_TOOLS } from './builtin/builtin-tools.js';
import { ToolCatalog } from './catalog/tool-catalog.js';
import { isTool } from './define-tool.js';
import type { Tool } from './tool.js';
import { ToolRegistry } from './tool.registry.js';

/** A Nest provider of a tool, for tools with injected dependencies. The registry finds it at boot in any module. */
export abstract class ToolProvider {
  abstract readonly tool: Tool;
}

/** The registry with the built-in tools and all tools among the providers of the application. */
@Module({
  imports: [DiscoveryModule, FeatureFlagsModule],
  providers: [ToolCatalog, ToolRegistry],
  exports: [ToolCatalog, ToolRegistry],
})
export class ToolRegistryModule implements OnModuleInit {
  constructor(
    private readonly discovery: DiscoveryService,
    private readonly registry: ToolRegistry,
  ) {}

  /** All providers exist, and the process has claimed no work yet: an invalid tool prevents the start. */
  onModuleInit(): void {
    for (const tool of [...BUILTIN_TOOLS, ...this.discovered()]) this.registry.register(tool);
  }

  private discovered(): readonly Tool[] {
    const instances = this.discovery.getProviders().map((wrapper): unknown => wrapper.instance);
    const carried = instances.filter((instance) => instance instanceof ToolProvider).map((provider) => provider.tool);
    return [...new Set([...instances.filter(isTool), ...carried])];
  }
}
