import { Inject, Injectable, type OnApplicationBootstrap, type OnModuleDestroy } from '@nestjs/common';
import { LRUCache } from 'lru-cache';

import { BUS, type Bus, LOGGER, type Logger, Metrics } from '#platform';

import { PluginRegistry } from './plugin.registry.js';

export function pluginDifferences(metrics: Metrics) {
  const help = 'How often this process found that another process runs different code of a plugin, by plugin';
  return metrics.counter('nightshift_plugin_differences_total', help, ['plugin']);
}

/** Compares the code of plugins with that of other processes. A difference is normal during a rolling deployment, and a fault afterwards. */
@Injectable()
export class PluginDifferences implements OnApplicationBootstrap, OnModuleDestroy {
  private readonly found;
  private readonly known = new LRUCache<string, true>({ max: 1_000 });
  private leave: (() => void) | undefined;

  constructor(
    private readonly plugins: PluginRegistry,
    @Inject(BUS) private readonly bus: Bus,
    @Inject(LOGGER) private readonly logger: Logger,
    metrics: Metrics,
  ) {
    this.found = pluginDifferences(metrics);
  }

  onApplicationBootstrap(): void {
    if (this.plugins.list().length === 0) return;
    this.leave = this.bus.subscribe('plugin-loaded', ({ plugin, hash }) => {
      this.compare(plugin, hash);
    });
    for (const { name: plugin, hash } of this.plugins.list()) this.bus.publish('plugin-loaded', { plugin, hash });
  }

  onModuleDestroy(): void {
    this.leave?.();
  }

  /** The message of this process informs the other one of the difference. A hash is reported once, unless 1,000 others follow. */
  private compare(name: string, hash: string): void {
    const own = this.plugins.list().find((plugin) => plugin.name === name);
    if (own === undefined || own.hash === hash || this.known.has(hash)) return;
    this.known.set(hash, true);
    this.found.inc({ plugin: name });
    this.logger.warn(
      { plugin: name, hash: own.hash, otherHash: hash },
      'another process runs different code of this plugin',
    );
    this.bus.publish('plugin-loaded', { plugin: name, hash: own.hash });
  }
}
