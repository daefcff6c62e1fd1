import type { Nightshift } from '@nightshift/client';
import { WorkflowsDocument } from '@nightshift/client/operations';
import type { Command } from 'commander';

import type { Context } from '../context.js';
import { type ExitCode, exitCodes } from '../exit-code.js';
import { formatAge, formatDuration } from '../format/duration.js';
import { showTable } from '../format/show-table.js';
import type { Cell } from '../format/table.js';
import { jobListDocument, type ListedJob } from '../operations.js';
import { oneLine } from '../terminal/plain-text.js';
import type { Screen, Style } from '../terminal/screen.js';
import { enumWords, instantOf, wholeNumber } from '../words.js';
import { findWorkflow } from './find-workflow.js';
import type { Perform } from './perform.js';
import { firstRows, noteMore } from './replies.js';

interface JobsFlags {
  readonly status?: string;
  readonly kind?: string;
  readonly thread?: string;
  readonly workflow?: string;
  readonly since?: string;
  readonly limit: string;
}

export const jobStatuses = ['QUEUED', 'RUNNING', 'WAITING', 'COMPLETED', 'FAILED', 'CANCELLED'] as const;
export const jobKinds = ['CHAT', 'WORKFLOW'] as const;

/** `jobs`: what runs, what waits, what ran. */
export function addJobs(program: Command, perform: Perform): void {
  program
    .command('jobs')
    .summary('list jobs')
    .description('Lists jobs, newest first. With --json, a line for each.')
    .option('-s, --status <words>', `only these: ${jobStatuses.map((word) => word.toLowerCase()).join(', ')}`)
    .option('-k, --kind <words>', 'only these: chat, workflow')
    .option('--thread <id>', 'only of this thread')
    .option('--workflow <id>', 'only of this workflow: its id, the meta.id of its document, its slug or its name')
    .option('--since <when>', 'only jobs created in the last 30m, 2h or 7d, or since a date')
    .option('-n, --limit <number>', 'how many at most', '20')
    .action((flags: JobsFlags) => perform((context) => jobs(context, flags)));
}

async function jobs(context: Context, flags: JobsFlags): Promise<ExitCode> {
  const plain = toFilter(flags, Date.now());
  const limit = wholeNumber(flags.limit, '--limit', 1);
  const client = await context.client();
  const workflow = flags.workflow === undefined ? undefined : await findWorkflow(client, flags.workflow);
  const filter = { ...plain, ...(workflow !== undefined && { workflowId: { eq: workflow.id } }) };
  const { rows: found, hasMore } = await firstRows(
    limit,
    async (page) => (await client.query(jobListDocument, { filter, ...page })).jobs,
  );
  if (context.json) for (const job of found) context.emit(job);
  else if (found.length > 0) show(context.screen, found, await namesOf(client, found));
  else if (Object.keys(filter).length > 0) context.screen.note('No jobs match.');
  else context.screen.note(`No jobs. Start one: ${context.command('run "…"')}`);
  noteMore(context, limit, hasMore);
  return exitCodes.ok;
}

function toFilter({ status, kind, thread, since }: JobsFlags, now: number): object {
  return {
    ...(status !== undefined && { status: { in: enumWords(status, jobStatuses, '--status') } }),
    ...(kind !== undefined && { kind: { in: enumWords(kind, jobKinds, '--kind') } }),
    ...(thread !== undefined && { threadId: { eq: thread } }),
    ...(since !== undefined && { createdAt: { gte: instantOf(since, '--since', now).toISOString() } }),
  };
}

const styles: Readonly<Record<string, Style>> = {
  COMPLETED: 'green',
  FAILED: 'red',
  CANCELLED: 'yellow',
  WAITING: 'yellow',
  RUNNING: 'cyan',
  QUEUED: 'cyan',
};

/** The names of the newest workflows, by their ids, where the list has jobs that run one. */
async function namesOf(client: Nightshift, found: readonly ListedJob[]): Promise<ReadonlyMap<string, string>> {
  if (!found.some(({ workflowId }) => workflowId !== null)) return new Map();
  const { workflows } = await client.query(WorkflowsDocument, { first: 100 });
  return new Map(workflows.nodes.map(({ id, name }) => [id, name]));
}

function show(screen: Screen, found: readonly ListedJob[], workflows: ReadonlyMap<string, string>): void {
  const now = Date.now();
  showTable(
    screen,
    ['STATUS', 'JOB', 'STARTED', 'TOOK', 'TOKENS', 'ABOUT'],
    found.map((job) => rowOf(screen, { job, about: aboutOf(job, workflows) }, now)),
  );
}

interface Row {
  readonly job: ListedJob;
  readonly about: string;
}

function rowOf(screen: Screen, { job, about }: Row, now: number): Cell[] {
  const startedAt = job.startedAt === null ? null : new Date(job.startedAt);
  const tookMs = job.finishedAt === null ? null : Date.parse(job.finishedAt) - Date.parse(job.createdAt);
  return [
    { text: job.status.toLowerCase(), paint: (text) => screen.ink(styles[job.status] ?? 'bold', text) },
    { text: job.id },
    { text: startedAt === null ? '' : formatAge(startedAt, now), paint: (text) => screen.ink('dim', text) },
    { text: tookMs === null ? '' : formatDuration(tookMs) },
    { text: job.usage.totalTokens === 0 ? '' : job.usage.totalTokens.toLocaleString('en-US') },
    { text: about },
  ];
}

function aboutOf(job: ListedJob, workflows: ReadonlyMap<string, string>): string {
  const { error, thread, kind, model, status, reason, workflowId } = job;
  const name = workflowId === null ? undefined : workflows.get(workflowId);
  if (error !== null) return oneLine(`${name === undefined ? '' : `${name}: `}${error.code}: ${error.message}`);
  const title = oneLine(thread?.title ?? '');
  if (title !== '') return title;
  if (name !== undefined) return oneLine(name);
  if (status === 'CANCELLED' && reason !== null) return oneLine(reason);
  if (kind === 'WORKFLOW') return 'workflow';
  return model === '' ? 'a call without a model' : oneLine(model);
}
