import { spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';

import type { Command } from 'commander';

import type { Context } from '../context.js';
import { type ExitCode, exitCodes } from '../exit-code.js';
import type { Perform } from './perform.js';

interface BackupFlags {
  readonly replace?: boolean;
}

/** The operator's entry of the server, beside which this program is compiled. */
const entry = fileURLToPath(new URL('../../../backup.main.js', import.meta.url));

/** `backup` and `restore`: of the database of this machine's settings, not through the API. */
export function addBackup(program: Command, perform: Perform): void {
  program
    .command('backup')
    .summary('back up the database')
    .description(
      'Writes the database of DATABASE_URL, or the embedded one of the data directory, to a file, with pg_dump. Nightshift may keep running.',
    )
    .argument('<file>', 'the file to write')
    .action((file: string) => perform((context) => operate(context, { command: 'backup', file })));
  program
    .command('restore')
    .summary('restore a backup')
    .description(
      'Restores a backup to the empty database of DATABASE_URL, or to the data directory, with pg_restore. Stop Nightshift first.',
    )
    .argument('<file>', 'the file that `nightshift backup` has written')
    .option('--replace', 'delete the existing installation')
    .action((file: string, flags: BackupFlags) =>
      perform((context) => operate(context, { command: 'restore', file, ...flags })),
    );
}

async function operate({ dataDir, json }: Context, request: object): Promise<ExitCode> {
  const text = JSON.stringify({ ...request, dataDir, json });
  const child = spawn(process.execPath, [entry, text], { stdio: ['ignore', 'inherit', 'inherit'] });
  const code = await new Promise<number | null>((resolve, reject) => {
    child.once('error', reject);
    child.once('close', resolve);
  });
  if (code === 0) return exitCodes.ok;
  return code === exitCodes.usage ? exitCodes.usage : exitCodes.failed;
}
