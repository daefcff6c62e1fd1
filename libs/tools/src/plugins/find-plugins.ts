import { existsSync, readdirSync, readFileSync, realpathSync, statSync } from 'node:fs';
import { basename, dirname, extname, isAbsolute, join, resolve } from 'node:path';

import { pluginRefused } from './plugins.errors.js';

/** The location of a plugin's code. */
export interface PluginSource {
  /** The absolute path of the module to import. */
  readonly entry: string;
  /** The folder of its package; null: a module without one. */
  readonly folder: string | null;
  /** The name of the package, or the name of the file. */
  readonly name: string;
  /** The version of the package. */
  readonly version: string | null;
}

/** The places to search for plugins. */
export interface PluginPlaces {
  /** The entries of PLUGINS. */
  readonly list: readonly string[];
  readonly workingDirectory: string;
  /** Whether the plugins in the folder `plugins` of the working directory are loaded too. */
  readonly withFolder: boolean;
}

const MODULE = /\.(?:ts|mts|js|mjs)$/;
const NOT_A_PLUGIN = /\.(?:d|spec|test)\.m?[jt]s$/;
const ENTRIES = ['index.ts', 'index.mts', 'index.js', 'index.mjs'];

/**
 * Returns the plugins of PLUGINS (`list`: packages, modules and folders, in that order), then those in `./plugins` by name, each once. Throws
 * `plugin_refused` for an entry that does not exist.
 */
export function findPlugins({ list, workingDirectory, withFolder }: PluginPlaces): readonly PluginSource[] {
  const folder = join(workingDirectory, 'plugins');
  const named = list.flatMap((place) => findPlace(place, workingDirectory));
  const found = [...named, ...(withFolder && isFolder(folder) ? findInFolder(folder) : [])];
  return [...new Map(found.map((source) => [realpathSync(source.entry), source])).values()];
}

function findPlace(place: string, workingDirectory: string): readonly PluginSource[] {
  const path = resolve(workingDirectory, place);
  if (!existsSync(path)) {
    if (/^\.{1,2}[/\\]/.test(place) || isAbsolute(place) || MODULE.test(place))
      throw pluginRefused(path, 'it does not exist');
    return [findPackage(place, workingDirectory)];
  }
  if (!isFolder(path)) return [toModule(path)];
  if (existsSync(join(path, 'package.json'))) return [readPackage(path)];
  const found = findInFolder(path);
  if (found.length === 0)
    throw pluginRefused(path, 'the folder has no module (*.ts, *.mts, *.js or *.mjs) and no package');
  return found;
}

/** Finds an installed package in the nearest `node_modules` that contains it. */
function findPackage(name: string, from: string): PluginSource {
  const folder = join(from, 'node_modules', ...name.split('/'));
  if (existsSync(join(folder, 'package.json'))) return readPackage(folder);
  if (dirname(from) === from)
    throw pluginRefused(name, 'neither a file or folder nor an installed package has this name');
  return findPackage(name, dirname(from));
}

/** Returns every module and every package in the folder, by name. */
function findInFolder(folder: string): readonly PluginSource[] {
  return readdirSync(folder)
    .sort()
    .map((name) => join(folder, name))
    .flatMap((path) => {
      if (isFolder(path)) return existsSync(join(path, 'package.json')) ? [readPackage(path)] : [];
      return MODULE.test(path) && !NOT_A_PLUGIN.test(path) ? [toModule(path)] : [];
    });
}

function toModule(entry: string): PluginSource {
  return { entry, folder: null, name: basename(entry, extname(entry)), version: null };
}

function readPackage(folder: string): PluginSource {
  const manifest = readManifest(join(folder, 'package.json'));
  const { name, version, exports, main } = manifest;
  const named = entryOf(exports) ?? entryOf(main) ?? ENTRIES.find((entry) => existsSync(join(folder, entry)));
  if (named === undefined)
    throw pluginRefused(folder, 'its package.json names no module: set "exports" to the module of the plugin');
  const entry = join(folder, named);
  if (!existsSync(entry)) throw pluginRefused(entry, 'it does not exist: correct "exports" or "main" in package.json');
  return {
    ...{ entry, folder },
    name: typeof name === 'string' ? name : basename(folder),
    version: typeof version === 'string' ? version : null,
  };
}

function readManifest(file: string): Readonly<Record<string, unknown>> {
  try {
    const manifest: unknown = JSON.parse(readFileSync(file, 'utf8'));
    if (typeof manifest === 'object' && manifest !== null) return { ...manifest };
  } catch (error) {
    throw pluginRefused(file, 'it is not JSON', error);
  }
  throw pluginRefused(file, 'it is not a JSON object');
}

/** The module that `import` resolves for the package itself (Node.js, "Packages", conditional exports). */
function entryOf(exports: unknown): string | undefined {
  if (typeof exports === 'string') return exports;
  if (typeof exports !== 'object' || exports === null) return undefined;
  const conditions = new Map<string, unknown>(Object.entries(exports));
  for (const [name, value] of conditions)
    if (['.', 'node', 'import', 'default'].includes(name)) {
      const entry = entryOf(value);
      if (entry !== undefined) return entry;
    }
  return undefined;
}

function isFolder(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() === true;
}
