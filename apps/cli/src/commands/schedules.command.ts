import type { TypedDocument } from '@nightshift/client';
import type { Command } from 'commander';

import { notFound, usageError } from '../cli.errors.js';
import type { Context } from '../context.js';
import { type ExitCode, exitCodes } from '../exit-code.js';
import { showTable } from '../format/show-table.js';
import { documents } from '../operations.js';
import { oneLine, plainText } from '../terminal/plain-text.js';
import { enumWord, wholeNumber } from '../words.js';
import type { Perform } from './perform.js';
import { allPages, changed, type ConnectionPage, firstRows, noteMore, type Payload } from './replies.js';

const kinds = ['CHAT', 'WORKFLOW'] as const;
type Kind = (typeof kinds)[number];

interface Schedule {
  readonly id: string;
  readonly name: string | null;
  readonly cron: string;
  readonly timeZone: string;
  readonly enabled: boolean;
  readonly stoppedBecause: string | null;
  readonly createdAt: string;
  readonly nextSlots: readonly string[];
}

interface OfKind extends Schedule {
  readonly kind: Kind;
}

type ListDocument = TypedDocument<
  { readonly page: ConnectionPage<Schedule> },
  { readonly first: number; readonly after: string | undefined }
>;
type ChangeDocument = TypedDocument<
  { readonly payload: Payload & { readonly schedule: Schedule | null } },
  { readonly input: object }
>;

const lists: Readonly<Record<Kind, ListDocument>> = {
  CHAT: documents.chatSchedules,
  WORKFLOW: documents.workflowSchedules,
};
const switches: Readonly<Record<Kind, ChangeDocument>> = {
  CHAT: documents.setChatScheduleEnabled,
  WORKFLOW: documents.setWorkflowScheduleEnabled,
};
const removals: Readonly<Record<Kind, ChangeDocument>> = {
  CHAT: documents.removeChatSchedule,
  WORKFLOW: documents.removeWorkflowSchedule,
};
const oneDocument: TypedDocument<
  { readonly workflow: Schedule | null; readonly chat: Schedule | null },
  { readonly id: string }
> = documents.oneSchedule;

interface ListFlags {
  readonly kind?: string;
  readonly limit: string;
}

const named = ['<schedule>', 'its id or its name'] as const;

/** `schedules`: when workflows and chats start by themselves. */
export function addSchedules(program: Command, perform: Perform): void {
  const schedules = program
    .command('schedules')
    .summary('list, enable, disable and remove schedules')
    .description('Schedules of workflows (docs/workflows.md) and of chats (docs/triggers.md).');
  schedules
    .command('list')
    .description('Lists the schedules, newest first. With --json, a line for each.')
    .option('-k, --kind <word>', 'only these: chat, workflow')
    .option('-n, --limit <number>', 'how many at most', '20')
    .action((flags: ListFlags) => perform((context) => list(context, flags)));
  schedules
    .command('show')
    .description('Prints a schedule with its next and its past scheduled times, as JSON.')
    .argument(...named)
    .action((name: string) => perform((context) => show(context, name)));
  schedules
    .command('enable')
    .description('Enables a schedule, beginning with its next scheduled time.')
    .argument(...named)
    .action((name: string) => perform((context) => setEnabled(context, name, true)));
  schedules
    .command('disable')
    .description('Disables a schedule: it starts no more jobs.')
    .argument(...named)
    .action((name: string) => perform((context) => setEnabled(context, name, false)));
  schedules
    .command('remove')
    .description('Removes a schedule. The jobs that it started continue.')
    .argument(...named)
    .action((name: string) => perform((context) => remove(context, name)));
}

async function list(context: Context, flags: ListFlags): Promise<ExitCode> {
  const max = wholeNumber(flags.limit, '--limit', 1);
  const asked = flags.kind === undefined ? kinds : [enumWord(flags.kind, kinds, '--kind')];
  const client = await context.client();
  const rows: OfKind[] = [];
  let hasMore = false;
  for (const kind of asked) {
    const first = await firstRows(max, async (page) => (await client.query(lists[kind], page)).page);
    hasMore ||= first.hasMore;
    rows.push(...first.rows.map((schedule) => ({ ...schedule, kind })));
  }
  const found = rows.sort((a, b) => Date.parse(b.createdAt) - Date.parse(a.createdAt)).slice(0, max);
  if (context.json) for (const schedule of found) context.emit(schedule);
  else if (found.length === 0) context.screen.note('No schedules.');
  else showList(context, found);
  noteMore(context, max, hasMore || rows.length > max);
  return exitCodes.ok;
}

function showList({ screen }: Context, found: readonly OfKind[]): void {
  const rows = found.map(({ id, name, kind, enabled, stoppedBecause, cron, timeZone, nextSlots }) => [
    { text: id, paint: (text: string) => screen.ink('cyan', text) },
    { text: oneLine(name ?? '') },
    { text: kind.toLowerCase() },
    { text: enabled ? 'enabled' : `disabled ${stoppedBecause?.toLowerCase() ?? ''}`.trim() },
    { text: `${cron} ${timeZone}` },
    { text: nextSlots[0] ?? '' },
  ]);
  showTable(screen, ['SCHEDULE', 'NAME', 'KIND', 'STATE', 'WHEN', 'NEXT'], rows);
}

async function byId({ client }: Context, id: string): Promise<OfKind | null> {
  const { workflow, chat } = await (await client()).query(oneDocument, { id });
  if (workflow !== null) return { ...workflow, kind: 'WORKFLOW' };
  return chat === null ? null : { ...chat, kind: 'CHAT' };
}

/** By its id, else by its name, which is unique in the workspace. */
async function find(context: Context, name: string): Promise<OfKind> {
  if (name.trim() === '') throw usageError('The schedule is missing.', 'Name its id or its name.');
  const known = await byId(context, name);
  if (known !== null) return known;
  const client = await context.client();
  for (const kind of kinds) {
    const all = await allPages(async (page) => (await client.query(lists[kind], page)).page);
    const found = all.find((schedule) => schedule.name === name);
    const whole = found === undefined ? null : await byId(context, found.id);
    if (whole !== null) return whole;
  }
  throw notFound(`Schedule ${oneLine(name)}`, (command) => `List the schedules: ${command('schedules list')}`);
}

async function show(context: Context, name: string): Promise<ExitCode> {
  const schedule = await find(context, name);
  if (context.json) context.emit(schedule);
  else context.screen.line(plainText(JSON.stringify(schedule, null, 2)));
  return exitCodes.ok;
}

async function setEnabled(context: Context, name: string, enabled: boolean): Promise<ExitCode> {
  const { id, kind } = await find(context, name);
  const { payload } = await (await context.client()).mutate(switches[kind], { input: { id, enabled } });
  return report(context, changed(payload, payload.schedule), enabled ? 'enabled' : 'disabled');
}

async function remove(context: Context, name: string): Promise<ExitCode> {
  const { id, kind } = await find(context, name);
  const { payload } = await (await context.client()).mutate(removals[kind], { input: { id } });
  return report(context, changed(payload, payload.schedule), 'removed');
}

function report({ json, emit, screen }: Context, schedule: Schedule, what: string): ExitCode {
  if (json) emit(schedule);
  else screen.line(`${what} ${oneLine(schedule.name ?? schedule.id)}`);
  return exitCodes.ok;
}
