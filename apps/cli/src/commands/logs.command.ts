import type { JobHandle, Nightshift } from '@nightshift/client';
import type { Command } from 'commander';

import type { Context } from '../context.js';
import { type ExitCode, exitCodes } from '../exit-code.js';
import { exitCodeOf, followJob } from '../follow/follow-job.js';
import type { JobView } from '../view/job-view.js';
import { JsonView } from '../view/json-view.js';
import { LogView } from '../view/log-view.js';
import { wholeNumber } from '../words.js';
import { noSuchJob } from './no-such-job.js';
import type { Perform } from './perform.js';

interface LogsFlags {
  readonly follow?: boolean;
  readonly after: string;
}

/** `logs`: the numbered events of a job. */
export function addLogs(program: Command, perform: Perform): void {
  program
    .command('logs')
    .summary('show the events of a job')
    .description(
      "Shows a job's log: every event with its number. With --follow it continues until the job has ended, across lost connections, without a gap.",
    )
    .argument('<job>', 'the id of the job')
    .option('-f, --follow', 'continue until the job has ended; exit code 1 when it did not complete')
    .option('--after <number>', 'start after the event with this number', '0')
    .action((id: string, flags: LogsFlags) => perform((context) => logs(context, id, flags)));
}

async function logs(context: Context, id: string, { follow = false, after }: LogsFlags): Promise<ExitCode> {
  const from = wholeNumber(after, '--after');
  const client = await context.client();
  const job = client.job(id);
  const { lastSeq } = await job.status().catch(noSuchJob(id));
  const view = context.json ? new JsonView(context.emit) : new LogView(context.screen);
  if (!follow) return showKnown(job, view, { from, to: lastSeq });
  return followLog(context, { client, job, view, from });
}

async function showKnown(job: JobHandle, view: JobView, { from, to }: { from: number; to: number }): Promise<ExitCode> {
  if (from >= to) return exitCodes.ok;
  for await (const event of job.events({ after: from })) {
    view.show(event);
    if (event.seq >= to) break;
  }
  view.close();
  return exitCodes.ok;
}

interface Following {
  readonly client: Nightshift;
  readonly job: JobHandle;
  readonly view: JobView;
  readonly from: number;
}

async function followLog(
  { screen, environment, command }: Context,
  { client, job, view, from }: Following,
): Promise<ExitCode> {
  const followed = await followJob({
    ...{ client, screen, job, view, after: from, cancelOnExit: false, editor: environment.editor },
    whenWaiting: 'stay',
  });
  if (followed.how === 'lost') throw followed.error;
  if (followed.how === 'left') {
    screen.note(
      `Continue with: ${screen.paint('bold', command(`logs ${job.id} --follow --after ${followed.after ?? from}`))}`,
    );
    return exitCodes.interrupted;
  }
  return exitCodeOf((await job.status()).status);
}
