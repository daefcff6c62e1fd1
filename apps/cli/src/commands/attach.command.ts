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

/** `attach`: comes back to a job, as `run` shows it. */
export function addAttach(program: Command, perform: Perform): void {
  program
    .command('attach')
    .summary('follow a job that was started before')
    .description('Shows a job as `run` does: the text that it has written so far, then new events. Asks for approvals.')
    .argument('<job>', 'the id of the job')
    .option('--after <number>', 'begin after the event with this number; default: show the whole text')
    .option('--wait', 'stay when the job waits for another person or a client, instead of exit code 6')
    .option('--cancel-on-exit', 'Ctrl-C stops the job')
    .action((id: string, flags: AttachFlags) => perform((context) => attach(context, id, flags)));
}

async function attach(context: Context, id: string, flags: AttachFlags): Promise<ExitCode> {
  const after = flags.after === undefined ? undefined : wholeNumber(flags.after, '--after');
  const client = await context.client();
  const job = client.job(id);
  await job.status().catch(noSuchJob(id)); // reports a missing job before anything is opened
  return followToEnd(context, { ...flags, client, job, after });
}
