import type { JobHandle, Nightshift } from '@nightshift/client';

import type { Context } from '../context.js';
import { type ExitCode, exitCodes } from '../exit-code.js';
import { exitCodeOf, type Followed, followJob } from '../follow/follow-job.js';
import { howToAnswer } from '../requests/how-to-answer.js';
import { showAsked } from '../requests/show-asked.js';
import { ConversationView } from '../view/conversation-view.js';
import { JsonView } from '../view/json-view.js';
import { showEnd } from '../view/show-end.js';

/** The flags of commands that stay with a job. */
export interface StayFlags {
  readonly cancelOnExit?: boolean;
  readonly wait?: boolean;
}

interface Stay extends StayFlags {
  readonly client: Nightshift;
  readonly job: JobHandle;
  readonly after: number | undefined;
  /** Printed first, on Ctrl-C. */
  readonly announce?: () => void;
}

/** Follows a job until it ends, waits for another person, or the user detaches; prints which, and what to do then. */
export async function followToEnd(context: Context, stay: Stay): Promise<ExitCode> {
  const { screen, json, emit, environment } = context;
  const { client, job, after, cancelOnExit = false, wait = false } = stay;
  const followed = await followJob({
    ...{ client, screen, job, after, cancelOnExit },
    view: json ? new JsonView(emit) : new ConversationView(screen),
    whenWaiting: screen.isInteractive ? 'ask' : wait ? 'stay' : 'leave',
    editor: environment.editor,
    announce: stay.announce,
    ...(json && {
      onSubJobRequest: (request, asker) => {
        emit({ event: 'sub-job-request', asker, ...request });
      },
    }),
  });
  const exitCode = await finish(context, stay, followed);
  if (json) await emitResult(context, job, { exitCode, followed });
  return exitCode;
}

async function finish(context: Context, { client, job, cancelOnExit }: Stay, followed: Followed): Promise<ExitCode> {
  const { screen, json } = context;
  const { how, after, last } = followed;
  if (how === 'lost') {
    if (after !== undefined && after > 0) noteHowToAttach(context, job.id, after);
    throw followed.error;
  }
  if (how === 'waiting') {
    if (!json) await sayWaiting(context, client, followed);
    noteHowToAttach(context, job.id, after);
    return exitCodes.waiting;
  }
  if (how === 'left') {
    if (cancelOnExit !== true && !json) {
      screen.note(screen.paint('bold', 'The job keeps running.'));
      noteHowToAttach(context, job.id, after);
    }
    return exitCodes.interrupted;
  }
  if (last?.__typename === 'JobFinishedEvent') return exitCodeOf(last.status);
  const state = await job.status();
  if (!json) for (const line of showEnd(screen, state)) screen.note(line);
  return exitCodeOf(state.status);
}

async function sayWaiting({ screen, command }: Context, client: Nightshift, { requests }: Followed): Promise<void> {
  screen.note(screen.paint('yellow', 'The job waits for a person or a client.'));
  for (const id of requests) {
    const request = await client.interrupts.get(id);
    if (request?.status !== 'OPEN') continue;
    for (const line of await showAsked(screen, client, request)) screen.note(line);
    for (const line of howToAnswer(request, command)) screen.note(`    ${screen.paint('dim', '$')} ${line}`);
  }
}

function noteHowToAttach({ screen, json, command }: Context, jobId: string, after: number | undefined): void {
  if (json) return; // the last output line contains it
  const from = after === undefined ? '' : ` --after ${after}`;
  screen.note(`Follow it again: ${screen.paint('bold', command(`attach ${jobId}${from}`))}`);
}

/** The last line of JSON: what it came to. */
async function emitResult(
  { emit }: Context,
  job: JobHandle,
  { exitCode, followed }: { readonly exitCode: ExitCode; readonly followed: Followed },
): Promise<void> {
  const { status, error, usage, threadId } = await job.status();
  const text = followed.how === 'ended' ? (await job.result()).content : null;
  const { after, requests } = followed;
  emit({ event: 'result', jobId: job.id, threadId, status, text, error, usage, after, requests, exitCode });
}
