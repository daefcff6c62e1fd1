import type { PluginLogger } from './context.js';
import { define, type Defined } from './definition.js';
import type { HookDefinition } from './hook.js';
import type { NodeDefinition } from './node.js';
import type { ToolDefinition } from './tool.js';

/** The context that `setup` gets. */
export interface SetupContext {
  /** Environment variables that start with `PLUGIN_<NAME>_`, without that prefix: PLUGIN_ACME_CRM_URL is `URL` of `acme-crm`. */
  readonly config: Readonly<Record<string, string>>;
  readonly logger: PluginLogger;
  /**
   * Stops offering a tool of this plugin in this process, until the process ends. A call that was created before ends as `error` with the
   * code `tool_unavailable`. May be called at any time; throws for a tool that the plugin does not define.
   */
  readonly unregisterTool: (name: string) => void;
}

/** The tools, hooks and nodes of a plugin. */
export interface PluginSpec {
  /** Letters, digits, `.`, `_` and `-`, after an optional scope such as `@acme/`; unique in the installation. */
  readonly name: string;
  readonly version: string;
  /** Secrets of workspaces that the code of this plugin may read. */
  readonly secrets?: readonly string[];
  // `any`: a list contains definitions whose handlers have different inputs.
  // eslint-disable-next-line @typescript-eslint/no-explicit-any
  readonly tools?: readonly ToolDefinition<any>[];
  // eslint-disable-next-line @typescript-eslint/no-explicit-any
  readonly hooks?: readonly HookDefinition<any>[];
  // eslint-disable-next-line @typescript-eslint/no-explicit-any
  readonly nodes?: readonly NodeDefinition<any>[];
  /** Runs once in each process, before the first call. The server refuses to start if it throws or takes longer than 10 s. */
  setup?(context: SetupContext): unknown;
  /** Runs when the process stops. */
  close?(): unknown;
}

/** A plugin, as the default export of its module. */
export type PluginDefinition = PluginSpec & Defined<'plugin'>;

/** Defines a plugin. */
export function definePlugin(spec: PluginSpec): PluginDefinition {
  return define('plugin', spec);
}
