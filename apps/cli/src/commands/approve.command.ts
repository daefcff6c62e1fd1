import type { Interrupt, Nightshift } from '@nightshift/client';
import { MeDocument } from '@nightshift/client/operations';
import type { Command } from 'commander';

import { notFound, usageError } from '../cli.errors.js';
import type { Context } from '../context.js';
import { type ExitCode, exitCodes } from '../exit-code.js';
import { InterruptPrompter } from '../follow/interrupt-prompter.js';
import { type AnswerFlags, answerFrom } from '../requests/answer-from.js';
import { callOf } from '../requests/arguments-of.js';
import { howToAnswer } from '../requests/how-to-answer.js';
import { LEFT } from '../requests/prompts.js';
import { explained, formatSettled } from '../requests/say-settled.js';
import { showAsked } from '../requests/show-asked.js';
import { oneLine } from '../terminal/plain-text.js';
import { sayCall } from '../view/say-event.js';
import type { Perform } from './perform.js';

interface ApproveFlags extends AnswerFlags {
  readonly job?: string;
  readonly all?: boolean;
}

const PAGE = 100;

/** `approve`: lists the inbox, and decides its requests. */
export function addApprove(program: Command, perform: Perform): void {
  program
    .command('approve')
    .summary('decide requests of jobs')
    .description(
      'Decides a request of a job, such as an approval, a question or a call with an unknown outcome. Without an id, it prompts for each request in your inbox; without a terminal, it lists the requests, and exits with 6 if there are any.',
    )
    .argument('[request]', 'the id of the request')
    .option('-y, --yes', 'approve the call unchanged; for a question: same as --action approve')
    .option('--deny', 'deny the call; for a question: same as --action reject')
    .option('--arguments <json>', 'approve the call with these arguments instead')
    .option('--hash <text>', 'approve only if the arguments still have this hash (argumentsHash)')
    .option('--grant <minutes>', 'also approve the same operation for the next 5, 10 or 30 minutes')
    .option('--action <word>', 'for a question: submit, approve, modify, custom, skip, reject')
    .option('--data <text>', 'the answer to a question, or the data of an event: text, or JSON if the form has fields')
    .option(
      '--decision <word>',
      'for an unknown outcome: happened, did_not_happen, repeat, report; for a model provider or missing plugin: retry, give_up',
    )
    .option('--result <text>', 'the result of the call that happened')
    .option('--reason <text>', 'the reason for the decision, shown to the model')
    .option('--job <id>', 'only requests of this job and its sub-jobs')
    .option('--all', 'include requests that others must decide')
    .action((id: string | undefined, flags: ApproveFlags) =>
      perform((context) => (id === undefined ? inbox(context, flags) : approve(context, id, flags))),
    );
}

async function approve(context: Context, id: string, flags: ApproveFlags): Promise<ExitCode> {
  const client = await context.client();
  const request = await client.interrupts.get(id);
  if (request === null) throw notFound(`Request ${id}`, (command) => `List the open ones: ${command('approve')}`);
  const answer = answerFrom(flags, request);
  if (answer !== null) {
    const settled = await client.interrupts.resolve({ id, ...answer }).catch(async (error: unknown) => {
      throw await explained(client, id, error);
    });
    sayOutcome(context, settled ?? request);
    return exitCodes.ok;
  }
  if (request.status !== 'OPEN') {
    const { me } = await client.query(MeDocument, {});
    sayOutcome(context, request, formatSettled(request, { me: me.id, now: Date.now() }));
    const call = context.json ? undefined : await callOf(client, request);
    if (call !== undefined) context.screen.line(`    ${sayCall(call)}`);
    return exitCodes.ok;
  }
  return context.screen.isInteractive ? ask(context, client, [request]) : list(context, [request]);
}

async function inbox(context: Context, { job, all = false, ...flags }: ApproveFlags): Promise<ExitCode> {
  const [answer] = Object.keys(flags);
  if (answer !== undefined) {
    const where = `approve${job === undefined ? '' : ` --job ${job}`}`;
    throw usageError(
      `--${answer} decides one request: give its id.`,
      (command) => `List the open ones: ${command(where)}`,
    );
  }
  const client = await context.client();
  const { nodes } = await client.interrupts.list(
    {
      status: { eq: 'OPEN' },
      ...(job !== undefined && { rootJobId: { eq: job } }),
      ...(!all && { assignee: { eq: 'MINE' } }),
    },
    { first: PAGE },
  );
  if (nodes.length === 0) {
    if (!context.json) context.screen.note(all ? 'No requests are open.' : 'No requests wait for your decision.');
    return exitCodes.ok;
  }
  const oldestFirst = nodes.toReversed();
  return context.screen.isInteractive ? ask(context, client, oldestFirst) : list(context, oldestFirst);
}

/** One after the other, until all are settled or the person has had enough. */
async function ask(context: Context, client: Nightshift, requests: readonly Interrupt[]): Promise<ExitCode> {
  const { screen, environment } = context;
  const prompter = new InterruptPrompter({ client, screen, editor: environment.editor });
  let left = 0;
  for (const { id } of requests) {
    const end = await prompter.ask(id);
    if (end === LEFT) return exitCodes.interrupted;
    if (end === 'later') left += 1;
    const now = end === undefined ? await client.interrupts.get(id) : null;
    if (now !== null && now.status !== 'OPEN') sayOutcome(context, now);
  }
  return left === 0 ? exitCodes.ok : exitCodes.waiting;
}

async function list(
  { client, screen, json, emit, command }: Context,
  requests: readonly Interrupt[],
): Promise<ExitCode> {
  const server = await client();
  for (const request of requests) {
    if (json) {
      emit(request);
      continue;
    }
    for (const line of await showAsked(screen, server, request)) screen.line(line);
    screen.line(`    job ${request.jobId}`);
    for (const line of howToAnswer(request, command)) screen.line(`    $ ${line}`);
  }
  return exitCodes.waiting;
}

function sayOutcome({ screen, json, emit }: Context, request: Interrupt, how?: string): void {
  if (json) {
    emit(request);
    return;
  }
  const outcome = how ?? (request.outcome ?? request.status.toLowerCase()).replaceAll('_', ' ');
  screen.line(`${outcome}: ${oneLine(request.title)}`);
}
