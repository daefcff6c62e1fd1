import type { Command } from 'commander';

import type { Context } from '../context.js';
import { type ExitCode, exitCodes } from '../exit-code.js';
import { showTable } from '../format/show-table.js';
import { agentsDocument } from '../operations.js';
import { oneLine } from '../terminal/plain-text.js';
import type { Perform } from './perform.js';

/** `agents`: the agents for `run --agent` and `tools call --agent`. */
export function addAgents(program: Command, perform: Perform): void {
  program
    .command('agents')
    .summary('list agents')
    .description('Lists the agents of the workspace, for `run --agent` and `tools call --agent`.')
    .action(() => perform(agents));
}

async function agents({ client, json, emit, screen }: Context): Promise<ExitCode> {
  const found = (await (await client()).query(agentsDocument, {})).agents.nodes;
  if (json) for (const agent of found) emit(agent);
  else if (found.length === 0) screen.note('No agents. Create one with the mutation createAgent.');
  else {
    const rows = found.map(({ slug, version, model, tools, description, name }) => [
      { text: slug, paint: (text: string) => screen.ink('cyan', text) },
      { text: String(version) },
      { text: model ?? '' },
      { text: tools.join(', ') },
      { text: oneLine(description === '' ? name : description) },
    ]);
    showTable(screen, ['AGENT', 'VERSION', 'MODEL', 'TOOLS', 'WHAT IT IS FOR'], rows);
  }
  return exitCodes.ok;
}
