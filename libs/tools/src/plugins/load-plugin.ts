import { registerHooks } from 'node:module';
import { pathToFileURL } from 'node:url';

import {
  type HookDefinition,
  kindOf,
  type NodeDefinition,
  type PluginSpec,
  type SetupContext,
  type ToolDefinition,
} from '@nightshift/plugin';

import { AppError, type Clock } from '#platform';

import { problemOfPlugin } from './check-plugin.js';
import type { PluginSource } from './find-plugins.js';
import { pluginFiles } from './plugin-files.js';
import { pluginFrame } from './plugin-frame.js';
import { pluginRefused } from './plugins.errors.js';
import { strayErrors } from './stray-errors.js';

/** A plugin whose module was imported and whose `setup` has run. */
export interface LoadedPlugin {
  readonly name: string;
  readonly version: string;
  /** The hash of the code: processes with the same hash run the same plugin. */
  readonly hash: string;
  readonly source: PluginSource;
  readonly files: readonly string[];
  /** The names of workspace secrets that its code may read. */
  readonly secrets: readonly string[];
  readonly tools: readonly ToolDefinition[];
  readonly hooks: readonly HookDefinition[];
  readonly nodes: readonly NodeDefinition[];
  /** Rejects if it fails or takes longer than 5 s. */
  close(): Promise<void>;
}

/** The dependencies of loading. */
export interface LoadOptions {
  readonly clock: Clock;
  readonly setupOf: (plugin: Pick<PluginSpec, 'name' | 'tools'>) => SetupContext;
}

/** How long a module may take to load and its `setup` to run, together. */
const LOAD_TIMEOUT_MS = 10_000;
const CLOSE_TIMEOUT_MS = 5_000;

/** Imports a plugin and runs its `setup`. Throws `plugin_refused` with the reason. */
export async function loadPlugin(source: PluginSource, options: LoadOptions): Promise<LoadedPlugin> {
  try {
    return await withinLimit(load(source, options), options.clock, {
      limitMs: LOAD_TIMEOUT_MS,
      what: 'it did not load',
    });
  } catch (error) {
    if (error instanceof AppError && error.code === 'plugin_refused') throw error;
    throw pluginRefused(source.entry, reasonOf(error, source.entry), error);
  }
}

async function load(source: PluginSource, { clock, setupOf }: LoadOptions): Promise<LoadedPlugin> {
  const { files, hash } = pluginFiles(source);
  resolvePluginImports();
  // The URL contains the version of the file, so that a reload imports the new version instead of the cached module.
  const url = `${pathToFileURL(source.entry).href}?${versionOf(hash)}`;
  const spec = specOf(source, (await import(url)) as Readonly<Record<string, unknown>>); // a module namespace is an object
  const problem = problemOfPlugin(spec);
  if (problem !== null) throw pluginRefused(source.entry, problem);
  const { name, version, secrets = [], tools = [], hooks = [], nodes = [] } = spec;
  strayErrors.know(hash, name);
  await spec.setup?.(setupOf(spec));
  const closed = async () => {
    await spec.close?.();
  };
  const close = () => withinLimit(closed(), clock, { limitMs: CLOSE_TIMEOUT_MS, what: 'its close did not end' });
  return { name, version, hash, source, files, secrets, tools, hooks, nodes, close };
}

/** The default export if it is a plugin; else every definition that the module exports. */
function specOf({ entry, name, version }: PluginSource, exported: Readonly<Record<string, unknown>>): PluginSpec {
  const { default: main } = exported;
  if (kindOf(main) === 'plugin') return main as PluginSpec; // `definePlugin` made it
  const all = [...new Set(Object.values(exported))];
  const ofKind = (kind: string) => all.filter((value) => kindOf(value) === kind);
  const spec = { tools: ofKind('tool'), hooks: ofKind('hook'), nodes: ofKind('node') };
  if (Object.values(spec).every((list) => list.length === 0))
    throw pluginRefused(
      entry,
      'it exports no tool, hook or node: export a value of defineTool, defineHook or defineNode, or definePlugin({ … }) by default',
    );
  return { name, version: version ?? '0.0.0', ...(spec as Partial<PluginSpec>) }; // `kindOf` has checked their marks
}

async function withinLimit<T>(
  work: Promise<T>,
  clock: Clock,
  { limitMs, what }: { readonly limitMs: number; readonly what: string },
): Promise<T> {
  const { promise, reject } = Promise.withResolvers<never>();
  const timer = clock.after(limitMs, () => {
    reject(new Error(`${what} within ${limitMs / 1_000} s`));
  });
  try {
    return await Promise.race([work, promise]);
  } finally {
    timer.cancel();
  }
}

/** Codes of Node.js for TypeScript that it cannot load, and what to do about them. */
const REMEDIES: Readonly<Record<string, string>> = {
  ERR_UNSUPPORTED_TYPESCRIPT_SYNTAX: 'use syntax that Node.js can strip (no enum, namespace or parameter property)',
  ERR_INVALID_TYPESCRIPT_SYNTAX: 'correct its syntax',
  ERR_UNSUPPORTED_NODE_MODULES_TYPE_STRIPPING: 'a package in node_modules must contain JavaScript',
};

function reasonOf(error: unknown, entry: string): string {
  const text = (error instanceof Error ? error.message : String(error)).trim().replace(/\.$/, '');
  const code = error instanceof Error && 'code' in error ? String(error.code) : '';
  const remedy = REMEDIES[code];
  const frame = pluginFrame(error, entry);
  const place = frame === null ? '' : ` (${frame})`;
  return `${remedy === undefined ? text : `${text}; ${remedy}`}${place}`.replaceAll(/\s+/g, ' ');
}

/** Packages of the server that a plugin may import without an installation of its own. */
const SHARED: ReadonlySet<string> = new Set(['@nightshift/plugin', 'zod']);
const VERSION = /\?(plugin=[0-9a-f]{16})$/;

/** Marks the modules of one version of a plugin, as the query of their URLs. */
function versionOf(hash: string): string {
  return `plugin=${hash.slice(0, 16)}`;
}

let isRegistered = false;

/**
 * Registers the resolution of plugin imports when first called, because the hook slows down every import of the process. A module that a plugin
 * imports by a relative path gets the version of the plugin, so that a reload loads all its modules again. Packages that only the server has
 * resolve to those of the server.
 */
function resolvePluginImports(): void {
  if (isRegistered) return;
  registerHooks({
    resolve(specifier, context, next) {
      const version = VERSION.exec(context.parentURL ?? '')?.[1];
      if (version === undefined) return next(specifier, context);
      if (specifier.startsWith('.')) {
        const resolved = next(specifier, context);
        return resolved.url.startsWith('file:') ? { ...resolved, url: `${resolved.url}?${version}` } : resolved;
      }
      if (!SHARED.has(specifier)) return next(specifier, context);
      try {
        return next(specifier, context);
      } catch {
        return next(specifier, { ...context, parentURL: import.meta.url });
      }
    },
  });
  isRegistered = true;
}
