import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { basename, dirname, join, relative, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

import type { Command } from 'commander';

import { usageError } from '../cli.errors.js';
import type { Context } from '../context.js';
import { type ExitCode, exitCodes } from '../exit-code.js';
import type { Perform } from './perform.js';
import { type Example, type NightshiftPackage, nightshiftPackages, projectFiles } from './plugin-project.js';

/** The package `nightshift`: this file lies five folders below it once it is compiled. */
const root = fileURLToPath(new URL('../../../../../', import.meta.url));

type InitFlags = Readonly<Partial<Record<Example, true>>>;

/** `init`: a folder with a plugin that works, and its test. */
export function addInit(program: Command, perform: Perform): void {
  program
    .command('init')
    .summary('create a plugin project')
    .description(
      'Writes a TypeScript project with an example and a test that starts a real server (docs/plugins.md). Without a flag the example is a tool; several flags write several examples.',
    )
    .argument('<name>', 'the folder to write; its name is the name of the plugin')
    .option('--tool', 'with a tool')
    .option('--hook', 'with a hook')
    .option('--node', 'with a workflow node')
    .action((folder: string, flags: InitFlags) => perform((context) => init(context, folder, flags)));
}

function init({ json, emit, screen }: Context, place: string, flags: InitFlags): Promise<ExitCode> {
  const folder = resolve(place);
  const name = basename(folder);
  if (!/^[a-z0-9][a-z0-9._-]*$/.test(name))
    throw usageError(`"${name}" cannot be the name of a plugin.`, 'Use lower-case letters, digits, ".", "_" and "-".');
  const chosen = (['tool', 'hook', 'node'] as const).filter((example) => flags[example] === true);
  const files = projectFiles(name, { examples: chosen.length === 0 ? ['tool'] : chosen, specs: packageSpecs(folder) });
  const taken = Object.keys(files).find((path) => existsSync(join(folder, path)));
  if (taken !== undefined)
    throw usageError(`${join(folder, taken)} exists.`, 'Choose the name of a folder that does not exist yet.');
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), text);
  }
  if (json) emit({ folder, files: Object.keys(files) });
  else {
    for (const path of Object.keys(files)) screen.line(join(place, path));
    const pack = isCheckout ? `npm run pack --prefix ${root} && ` : '';
    screen.note(`Next: ${pack}cd ${place} && npm install && npm test`);
  }
  return Promise.resolve(exitCodes.ok);
}

const isCheckout = existsSync(join(root, 'scripts', 'pack.mjs'));

/**
 * What the project depends on: the version of this build in the registry, or the file that npm installed it from. A checkout is not in a
 * registry, and `npm run pack` writes its files.
 */
function packageSpecs(project: string): Readonly<Record<NightshiftPackage, string>> {
  const { version } = readJson(join(root, 'package.json')) as { readonly version: string }; // npm requires one
  const modules = resolve(root, '..');
  const installed = readJson(join(modules, '.package-lock.json')) as InstalledPackages | null; // npm writes it
  const specOf = (name: NightshiftPackage): string => {
    const { resolved } = installed?.packages[`node_modules/${name}`] ?? {};
    if (isCheckout) {
      const file = `${name.replace('@', '').replace('/', '-')}-${version}.tgz`;
      return `file:${relative(project, join(root, 'tarballs', file))}`;
    }
    if (resolved?.startsWith('file:') !== true) return version;
    return `file:${relative(project, join(modules, '..', resolved.slice('file:'.length)))}`;
  };
  return Object.fromEntries(nightshiftPackages.map((name) => [name, specOf(name)])) as Record<
    NightshiftPackage,
    string
  >; // each once
}

interface InstalledPackages {
  readonly packages: Readonly<Record<string, { readonly resolved?: string }>>;
}

function readJson(file: string): unknown {
  return existsSync(file) ? JSON.parse(readFileSync(file, 'utf8')) : null;
}
