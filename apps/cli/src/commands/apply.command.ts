import type { Command } from 'commander';

import { type ApplyFlags, applyFolder } from '../apply/apply-folder.js';
import type { Perform } from './perform.js';

/** `apply`: sets up a workspace from the files of a folder. */
export function addApply(program: Command, perform: Perform): void {
  program
    .command('apply')
    .summary('set up a workspace from files')
    .description(
      'Creates or changes the approval policy, tools, agents, workflows and schedules of a folder (docs/apply.md). It shows the differences first and deletes nothing.',
    )
    .argument('<folder>', 'the folder with policy.json, tools/, agents/, workflows/ and schedules/')
    .option('-y, --yes', 'apply without a confirmation, for scripts')
    .option('--dry-run', 'show the differences and change nothing')
    .action((folder: string, flags: ApplyFlags) => perform((context) => applyFolder(context, folder, flags)));
}
