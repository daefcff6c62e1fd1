import { Module, type OnModuleDestroy, type OnModuleInit } from '@nestjs/common';

import { PrincipalsModule } from '#auth';
import { FilesModule } from '#files';
import { Config, LOGGER, type Logger, Metrics, processEnvironment, Redactor, systemClock } from '#platform';

import { Hooks } from '../hooks/hooks.js';
import { ToolRegistry } from '../tool.registry.js';
import { ToolRegistryModule } from '../tool-registry.module.js';
import { PluginRegistry } from './plugin.registry.js';
import { PluginContexts } from './plugin-contexts.js';
import { PluginDifferences } from './plugin-differences.js';
import { assertNodes, registerTools } from './plugin-tools.js';
import { strayErrorCount, strayErrors } from './stray-errors.js';
import { ToolFiles } from './tool-files.js';

type HookDependencies = readonly [PluginRegistry, PluginContexts, Logger, Metrics, Redactor];

/** The plugins of this process: all are loaded before any provider that asks for `PluginRegistry`. Requires a global `PlatformModule`. */
@Module({
  imports: [FilesModule, PrincipalsModule, ToolRegistryModule],
  providers: [
    PluginContexts,
    PluginDifferences,
    ToolFiles,
    {
      provide: PluginRegistry,
      inject: [Config, LOGGER],
      useFactory: ({ values }: Config, logger: Logger) =>
        PluginRegistry.load({
          list: values.PLUGINS,
          workingDirectory: process.cwd(),
          withFolder: true,
          environment: processEnvironment(),
          ...{ clock: systemClock, logger },
        }),
    },
    {
      provide: Hooks,
      inject: [PluginRegistry, PluginContexts, LOGGER, Metrics, Redactor],
      useFactory: (...[plugins, contexts, logger, metrics, redactor]: HookDependencies) =>
        new Hooks(plugins.hooks, { contexts, clock: systemClock, logger, metrics, redactor }),
    },
  ],
  exports: [Hooks, PluginContexts, PluginRegistry],
})
export class PluginsModule implements OnModuleInit, OnModuleDestroy {
  private leave: (() => void) | undefined;

  constructor(
    private readonly plugins: PluginRegistry,
    private readonly contexts: PluginContexts,
    private readonly tools: ToolRegistry,
    private readonly config: Config,
    private readonly metrics: Metrics,
  ) {}

  /** The tools of the server are registered before this hook runs. */
  onModuleInit(): void {
    const strays = strayErrorCount(this.metrics);
    this.leave = strayErrors.subscribe((plugin) => {
      strays.inc({ plugin });
    });
    const { tools: registry, contexts } = this;
    const longestTimeoutMs = this.config.values.MAX_TOOL_TIMEOUT_MS;
    for (const plugin of this.plugins.list()) {
      registerTools(plugin, { registry, contexts, longestTimeoutMs });
      assertNodes(plugin, longestTimeoutMs);
    }
    this.plugins.connect((tool) => {
      registry.unregister(tool);
    });
  }

  onModuleDestroy(): void {
    this.leave?.();
  }
}
