import type { StopState } from '@nightshift/client';
import type { Command } from 'commander';

import type { Context } from '../context.js';
import { type ExitCode, exitCodes } from '../exit-code.js';
import { noSuchJob } from './no-such-job.js';
import type { Perform } from './perform.js';

const states: Readonly<Record<StopState, string>> = {
  ABORTED: 'The job is cancelled.',
  CANCEL_REQUESTED: 'The job is being cancelled: its worker stops it within a few seconds.',
  ALREADY_TERMINAL: 'The job has already ended and does not change.',
};

/** `cancel`: stops a job. */
export function addCancel(program: Command, perform: Perform): void {
  program
    .command('cancel')
    .summary('cancel a job')
    .description(
      'Cancels a job: at once if no worker runs it, else within a few seconds. A job that has ended does not change.',
    )
    .argument('<job>', 'the id of the job')
    .action((id: string) => perform((context) => cancel(context, id)));
}

async function cancel({ client, json, emit, screen }: Context, id: string): Promise<ExitCode> {
  const job = (await client()).job(id);
  const state = await job.cancel().catch(noSuchJob(id));
  if (json) emit({ jobId: id, state });
  else if (state !== null) screen.line(states[state]);
  return exitCodes.ok;
}
