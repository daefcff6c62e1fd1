import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';

import type { Command } from 'commander';

import { usageError } from '../cli.errors.js';
import type { Context } from '../context.js';
import { type ExitCode, exitCodes } from '../exit-code.js';
import type { Perform } from './perform.js';
import { type Example, projectFiles } from './plugin-project.js';

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
    .option('--hook', 'with a hook, which this version does not run')
    .option('--node', 'with a type of workflow node, which workflows cannot use in this version')
    .action((folder: string, flags: InitFlags) => perform((context) => init(context, folder, flags)));
}

function init({ json, emit, screen }: Context, place: string, flags: InitFlags): Promise<ExitCode> {
  const folder = resolve(place);
  const name = basename(folder);
  if (!/^[a-z0-9][a-z0-9._-]*$/.test(name))
    throw usageError(`"${name}" cannot be the name of a plugin.`, 'Use lower-case letters, digits, ".", "_" and "-".');
  const chosen = (['tool', 'hook', 'node'] as const).filter((example) => flags[example] === true);
  const files = projectFiles(name, chosen.length === 0 ? ['tool'] : chosen);
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
    screen.note(`Next: cd ${place} && npm install && npm test`);
  }
  return Promise.resolve(exitCodes.ok);
}
