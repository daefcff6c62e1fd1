import type { Command } from 'commander';

import type { Context } from '../context.js';
import type { ExitCode } from '../exit-code.js';
import { wholeNumber } from '../words.js';
import { followToEnd, type StayFlags } from './follow-to-end.js';
import { noSuchJob } from './no-such-job.js';
import type { Perform } from './perform.js';

interface AttachFlags extends StayFlags {
  readonly after?: string;
}

/** `attach`: follows a job that was started before. */
export function addAttach(program: Command, perform: Perform): void {
  program
    .command('attach')
    .summary('follow a job that was started before')
    .description(
      'Follows a job as `run` does: prints the text so far, then new events. The command asks for approvals.',
    )
    .argument('<job>', 'the id of the job')
    .option('--after <number>', 'start after the event with this number; default: print the whole text')
    .option(
      '--wait',
      'keep following when the job waits for another person or a client, instead of exiting with code 6',
    )
    .option('--cancel-on-exit', 'Ctrl-C cancels the job')
    .action((id: string, flags: AttachFlags) => perform((context) => attach(context, id, flags)));
}

async function attach(context: Context, id: string, flags: AttachFlags): Promise<ExitCode> {
  const after = flags.after === undefined ? undefined : wholeNumber(flags.after, '--after');
  const client = await context.client();
  const job = client.job(id);
  await job.status().catch(noSuchJob(id)); // reports a missing job before anything is opened
  return followToEnd(context, { ...flags, client, job, after });
}
