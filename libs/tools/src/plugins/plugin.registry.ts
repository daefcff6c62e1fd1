import type { HookDefinition, NodeDefinition } from '@nightshift/plugin';

import type { Clock, Logger } from '#platform';

import type { Tool } from '../tool.js';
import { findPlugins, type PluginPlaces } from './find-plugins.js';
import { type LoadedPlugin, type LoadOptions, loadPlugin } from './load-plugin.js';
import { pluginLogger } from './plugin-contexts.js';
import { pluginRefused } from './plugins.errors.js';

/** Where to find plugins, and what their code receives. */
export interface PluginOptions extends PluginPlaces {
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** A hook with the plugin that it belongs to. */
export interface RegisteredHook {
  readonly plugin: LoadedPlugin;
  readonly hook: HookDefinition;
}

/** A type of node with the plugin that it belongs to. */
export interface RegisteredNode {
  readonly plugin: LoadedPlugin;
  readonly node: NodeDefinition;
}

/** A plugin with its registered tools, hooks and nodes, for display. */
export interface ShownPlugin extends Pick<LoadedPlugin, 'name' | 'version' | 'hash'> {
  readonly tools: readonly string[];
  readonly hooks: readonly string[];
  readonly nodes: readonly string[];
}

/** The plugins of this process, in the order in which they were loaded. */
export class PluginRegistry {
  private loaded: readonly LoadedPlugin[] = [];
  /** The names of tools that plugins have taken out of the offer. */
  private readonly removed = new Set<string>();
  private unregister: ((tool: string) => void) | null = null;

  private constructor(private readonly logger: Logger) {}

  /** Finds and loads all plugins. Throws `plugin_refused`. */
  static async load(options: PluginOptions): Promise<PluginRegistry> {
    const { logger } = options;
    const registry = new PluginRegistry(logger);
    for (const source of findPlugins(options)) {
      const plugin = await loadPlugin(source, registry.loadOptions(options));
      registry.add(plugin);
      const { name, ...shown } = registry.show(plugin);
      logger.info({ plugin: name, ...shown, file: source.entry }, 'plugin loaded');
    }
    return registry;
  }

  list(): readonly LoadedPlugin[] {
    return this.loaded;
  }

  shown(): readonly ShownPlugin[] {
    return this.loaded.map((plugin) => this.show(plugin));
  }

  /** Returns the plugin that defines a tool; null: no plugin does. */
  ownerOf({ name, sort }: Pick<Tool, 'name' | 'sort'>): ShownPlugin | null {
    const plugin = sort === 'server' ? this.loaded.find(({ tools }) => tools.some((tool) => tool.name === name)) : null;
    return plugin == null ? null : this.show(plugin);
  }

  /**
   * Call it when the tools are registered. `unregister` then removes the tools that plugins have removed before, and those that they remove
   * later.
   */
  connect(unregister: (tool: string) => void): void {
    this.unregister = unregister;
    for (const tool of this.removed) unregister(tool);
  }

  /** All hooks, in the order in which they were loaded. */
  get hooks(): readonly RegisteredHook[] {
    return this.loaded.flatMap((plugin) => plugin.hooks.map((hook) => ({ plugin, hook })));
  }

  /** All types of nodes. */
  get nodes(): readonly RegisteredNode[] {
    return this.loaded.flatMap((plugin) => plugin.nodes.map((node) => ({ plugin, node })));
  }

  /** Nest calls it when the process stops. It closes all plugins at the same time. */
  async onApplicationShutdown(): Promise<void> {
    const closing = this.loaded.map((plugin) =>
      plugin.close().catch((error: unknown) => {
        this.logger.warn({ err: error, plugin: plugin.name }, 'a plugin failed to close');
      }),
    );
    await Promise.all(closing);
  }

  private add(plugin: LoadedPlugin): void {
    const { source, name } = plugin;
    const twice =
      firstTwice([...this.loaded.map((other) => other.name), name], 'plugin') ??
      firstTwice([...this.hooks.map(({ hook }) => hook.name), ...plugin.hooks.map((hook) => hook.name)], 'hook') ??
      firstTwice([...this.nodes.map(({ node }) => node.type), ...plugin.nodes.map((node) => node.type)], 'node');
    if (twice !== null) throw pluginRefused(source.entry, twice);
    this.loaded = [...this.loaded, plugin];
  }

  private loadOptions({ clock, environment, logger }: PluginOptions): LoadOptions {
    return {
      clock,
      setupOf: ({ name, tools = [] }) => ({
        config: configOf(name, environment),
        logger: pluginLogger(logger.child({ plugin: name })),
        unregisterTool: (tool) => {
          if (tools.every((own) => own.name !== tool))
            throw new TypeError(`The plugin "${name}" defines no tool "${tool}".`);
          this.removed.add(tool);
          this.unregister?.(tool);
        },
      }),
    };
  }

  private show({ name, version, hash, tools, hooks, nodes }: LoadedPlugin): ShownPlugin {
    return {
      ...{ name, version, hash },
      tools: tools.map(({ name }) => name).filter((tool) => !this.removed.has(tool)),
      hooks: hooks.map(({ name }) => name),
      nodes: nodes.map(({ type }) => type),
    };
  }
}

/** The variables that start with the name of the plugin, without that prefix. */
function configOf(name: string, environment: PluginOptions['environment']): Readonly<Record<string, string>> {
  const prefix = `PLUGIN_${name
    .replace(/^@/, '')
    .replaceAll(/[^A-Za-z0-9]+/g, '_')
    .toUpperCase()}_`;
  return Object.fromEntries(
    Object.entries(environment).flatMap(([variable, value]) =>
      variable.startsWith(prefix) && value !== undefined ? [[variable.slice(prefix.length), value]] : [],
    ),
  );
}

function firstTwice(names: readonly string[], kind: string): string | null {
  const twice = names.find((name, i) => names.indexOf(name) !== i);
  return twice === undefined ? null : `the name "${twice}" of a ${kind} is already in use`;
}
