import type { Command } from 'commander';

import { usageError } from '../cli.errors.js';
import type { Perform } from '../commands/perform.js';
import { exitCodes } from '../exit-code.js';
import { completeWords } from './complete-words.js';
import { shells } from './shell-scripts.js';

/** `completion`: prints the setup for a shell; and, unlisted, the words that the shell then requests. */
export function addCompletion(program: Command, perform: Perform): void {
  program
    .command('completion')
    .summary('completion for a shell')
    .description('Prints what a shell needs to complete commands and flags; its first line names its location.')
    .argument('<shell>', Object.keys(shells).join(', '))
    .action((shell: string) =>
      perform(({ screen, json, emit }) => {
        const script = shells[shell];
        if (script === undefined)
          throw usageError(`${shell} is not supported.`, `Use one of ${Object.keys(shells).join(', ')}.`);
        if (json) emit({ shell, script });
        else screen.text(script);
        return Promise.resolve(exitCodes.ok);
      }),
    );
  program
    .command('complete-words', { hidden: true })
    .argument('[words...]')
    .action((words: string[]) =>
      perform(({ screen }) => {
        for (const { word, about } of completeWords(program, words)) screen.line(`${word}\t${about}`);
        return Promise.resolve(exitCodes.ok);
      }),
    );
}
