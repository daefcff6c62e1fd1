import { spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';

import type { Command } from 'commander';

import type { Context } from '../context.js';
import { type ExitCode, exitCodes } from '../exit-code.js';
import { showTable } from '../format/show-table.js';
import { pluginsDocument } from '../operations.js';
import type { Perform } from './perform.js';

/** The loader of plugins, beside which this program is compiled. */
const entry = fileURLToPath(new URL('../../../plugins.main.js', import.meta.url));

/** `plugins`: those of a server, and a check of one in a folder. */
export function addPlugins(program: Command, perform: Perform): void {
  const plugins = program.command('plugins').summary('list and check plugins').description('Lists and checks plugins.');
  plugins
    .command('list')
    .description('Lists the plugins of the server with their tools, hooks and nodes.')
    .action(() => perform(listPlugins));
  plugins
    .command('check')
    .description('Loads a plugin as a server would, and prints what it offers, or why it cannot be loaded.')
    .argument('<path>', 'a module, a package or a folder')
    .action((path: string) => perform((context) => checkPlugin(context, path)));
}

async function listPlugins({ client, json, emit, screen }: Context): Promise<ExitCode> {
  const { plugins } = await (await client()).query(pluginsDocument, {});
  if (json) for (const plugin of plugins) emit(plugin);
  else if (plugins.length === 0)
    screen.note('No plugins. Add them to PLUGINS or to the folder plugins (docs/plugins.md).');
  else {
    const rows = plugins.map(({ name, version, hash, tools, hooks, nodes }) => [
      { text: name, paint: (text: string) => screen.ink('cyan', text) },
      ...[version, hash.slice(0, 12), tools.join(', '), hooks.join(', '), nodes.join(', ')].map((text) => ({ text })),
    ]);
    showTable(screen, ['PLUGIN', 'VERSION', 'HASH', 'TOOLS', 'HOOKS', 'NODES'], rows);
  }
  return exitCodes.ok;
}

async function checkPlugin({ json }: Context, path: string): Promise<ExitCode> {
  const child = spawn(process.execPath, [entry, JSON.stringify({ path, json })], {
    stdio: ['ignore', 'inherit', 'inherit'],
  });
  const code = await new Promise<number | null>((resolve, reject) => {
    child.once('error', reject);
    child.once('close', resolve);
  });
  if (code === 0) return exitCodes.ok;
  return code === exitCodes.usage ? exitCodes.usage : exitCodes.failed;
}
