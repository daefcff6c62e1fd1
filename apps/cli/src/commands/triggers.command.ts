import type { TypedDocument } from '@nightshift/client';
import type { Command } from 'commander';

import { notFound, usageError } from '../cli.errors.js';
import type { Context } from '../context.js';
import { type ExitCode, exitCodes } from '../exit-code.js';
import { showTable } from '../format/show-table.js';
import { documents } from '../operations.js';
import { oneLine, plainText } from '../terminal/plain-text.js';
import { enumWord, jsonOf, wholeNumber } from '../words.js';
import type { Perform } from './perform.js';
import { allPages, changed, type ConnectionPage, firstRows, noteMore, type Payload } from './replies.js';

const events = ['CREATE', 'UPDATE', 'DELETE'] as const;
/** The words that `--event` takes, for completion. */
export const triggerEvents: readonly string[] = events.map((event) => event.toLowerCase());

interface Trigger {
  readonly id: string;
  readonly origin: string;
  readonly enabled: boolean;
  readonly definition: unknown;
  readonly fired: number;
  readonly failed: number;
  readonly lastError: string | null;
}

interface Match {
  readonly trigger: { readonly id: string };
  readonly fires: boolean;
  readonly problem: string | null;
  readonly delivery: unknown;
  readonly input: unknown;
}

const listDocument: TypedDocument<
  { readonly triggers: ConnectionPage<Trigger> },
  { readonly database: string | undefined; readonly first: number; readonly after: string | undefined }
> = documents.triggers;
const oneDocument: TypedDocument<{ readonly trigger: Trigger | null }, { readonly id: string }> = documents.trigger;
const testDocument: TypedDocument<{ readonly testTrigger: readonly Match[] }, { readonly input: object }> =
  documents.testTrigger;
const enableDocument: TypedDocument<
  { readonly setTriggerEnabled: Payload & { readonly trigger: Trigger | null } },
  { readonly input: object }
> = documents.setTriggerEnabled;
const deleteDocument: TypedDocument<
  { readonly deleteTrigger: Payload & { readonly trigger: Trigger | null } },
  { readonly id: string }
> = documents.deleteTrigger;

interface ListFlags {
  readonly database?: string;
  readonly limit: string;
}

interface TestFlags {
  readonly document?: string;
  readonly before?: string;
  readonly event?: string;
  readonly collection?: string;
}

const named = ['<trigger>', 'its id, its triggerId, or database/triggerId'] as const;

/** `triggers`: what starts jobs or sends requests when something happens. */
export function addTriggers(program: Command, perform: Perform): void {
  const triggers = program
    .command('triggers')
    .summary('list, try, enable, disable and delete triggers')
    .description('Triggers of the workspace (docs/triggers.md). Requires the role admin.');
  triggers
    .command('list')
    .description('Lists the triggers, newest first. With --json, a line for each.')
    .option('--database <name>', 'only of this database')
    .option('-n, --limit <number>', 'how many at most', '20')
    .action((flags: ListFlags) => perform((context) => list(context, flags)));
  triggers
    .command('show')
    .description('Prints a trigger with its definition and its last runs, as JSON.')
    .argument(...named)
    .action((name: string) => perform((context) => show(context, name)));
  triggers
    .command('test')
    .description('Evaluates an enabled trigger for an event. It sends no request and starts no job.')
    .argument(...named)
    .option('--document <json>', 'the document after the change, or the body of the request')
    .option('--before <json>', 'the document before the change')
    .option('--event <word>', `${triggerEvents.join(', ')}; default: the first event of the trigger`)
    .option('--collection <path>', 'the collection of the document; default: the collection of the trigger')
    .action((name: string, flags: TestFlags) => perform((context) => test(context, name, flags)));
  for (const verb of ['enable', 'disable'] as const)
    triggers
      .command(verb)
      .description(
        `${verb === 'enable' ? 'Enables' : 'Disables'} a trigger. Its jobs keep the rights of the member who saved it.`,
      )
      .argument(...named)
      .action((name: string) => perform((context) => setEnabled(context, name, verb === 'enable')));
  triggers
    .command('delete')
    .description('Deletes a trigger and its runs. The jobs that it started continue.')
    .argument(...named)
    .action((name: string) => perform((context) => remove(context, name)));
}

async function list(context: Context, { database, limit }: ListFlags): Promise<ExitCode> {
  const { client, json, emit, screen } = context;
  const max = wholeNumber(limit, '--limit', 1);
  const asked = await client();
  const { rows: found, hasMore } = await firstRows(
    max,
    async (page) => (await asked.query(listDocument, { database, ...page })).triggers,
  );
  if (json) for (const trigger of found) emit(trigger);
  else if (found.length === 0) screen.note('No triggers. Create one with the mutation saveTrigger.');
  else {
    const rows = found.map(({ id, enabled, definition, fired, failed, lastError }) => {
      const read = asRead(definition);
      return [
        { text: id, paint: (text: string) => screen.ink('cyan', text) },
        { text: nameOf(read) },
        { text: enabled ? 'enabled' : 'disabled' },
        { text: targetOf(read) },
        { text: String(fired) },
        { text: String(failed) },
        { text: oneLine(lastError ?? '') },
      ];
    });
    showTable(screen, ['TRIGGER', 'NAME', 'STATE', 'STARTS', 'FIRED', 'FAILED', 'LAST ERROR'], rows);
  }
  noteMore(context, max, hasMore);
  return exitCodes.ok;
}

function nameOf({ database, triggerId }: ReadDefinition): string {
  return `${database}/${triggerId}`;
}

function targetOf({ url, start }: ReadDefinition): string {
  if (start === null) return oneLine(url ?? '');
  return oneLine(start.workflow === null ? 'chat' : `workflow ${start.workflow}`);
}

/** By its id, else by its name among the triggers of the workspace. Throws a usage error if several have the name. */
async function find({ client }: Context, name: string): Promise<Trigger> {
  const asked = await client();
  const { trigger } = await asked.query(oneDocument, { id: name });
  if (trigger !== null) return trigger;
  const all = await allPages(
    async (page) => (await asked.query(listDocument, { database: undefined, ...page })).triggers,
  );
  const found = all.filter(({ definition }) => {
    const read = asRead(definition);
    return [read.triggerId, nameOf(read)].includes(name);
  });
  const [only, ...more] = found;
  const which = `Trigger ${oneLine(name)}`;
  if (only === undefined) throw notFound(which, (command) => `List the triggers: ${command('triggers list')}`);
  if (more.length === 0) return only;
  const names = found.map(({ definition }) => nameOf(asRead(definition))).join(', ');
  throw usageError(`${which} exists in several databases.`, `Name one of: ${names}.`);
}

async function show(context: Context, name: string): Promise<ExitCode> {
  const trigger = await find(context, name);
  const { trigger: whole } = await (await context.client()).query(oneDocument, { id: trigger.id });
  if (whole === null) throw notFound(`Trigger ${oneLine(name)}`);
  if (context.json) context.emit(whole);
  else context.screen.line(plainText(JSON.stringify(whole, null, 2)));
  return exitCodes.ok;
}

async function test(context: Context, name: string, flags: TestFlags): Promise<ExitCode> {
  const parse = (text: string | undefined, flag: string) =>
    text === undefined ? undefined : jsonOf(text, flag, (command) => command(`triggers test ${name} ${flag} '{}'`));
  const [document, before] = [parse(flags.document, '--document'), parse(flags.before, '--before')];
  const event = flags.event === undefined ? undefined : enumWord(flags.event, events, '--event');
  const { id, enabled, definition } = await find(context, name);
  if (!enabled)
    throw usageError(
      `Trigger ${oneLine(name)} is disabled.`,
      (command) => `Enable it first: ${command(`triggers enable ${name}`)}`,
    );
  const read = asRead(definition);
  const type = event ?? read.events[0]?.toUpperCase();
  if (read.source !== 'webhook' && flags.collection === undefined && read.collection?.includes('[') === true)
    throw usageError('The collection of this trigger is a pattern.', 'Name one that it matches with --collection.');
  const change = read.source === 'webhook' ? {} : { type, collection: flags.collection ?? read.collection };
  const input = { database: read.database, triggerId: read.triggerId, ...change, document, before };
  const { testTrigger } = await (await context.client()).query(testDocument, { input });
  const match = testTrigger.find(({ trigger }) => trigger.id === id);
  const result = match ?? { trigger: { id }, fires: false, problem: null, delivery: null, input: null };
  if (context.json) context.emit(result);
  else say(context, result, match === undefined);
  if (!context.json && !result.fires && document === undefined)
    context.screen.line("The document was empty. Name the fields that the condition reads with --document '{…}'.");
  return exitCodes.ok;
}

function say({ screen }: Context, { fires, problem, delivery, input }: Match, isOther: boolean): void {
  const why = isOther ? 'its events or its collection exclude this change' : (problem ?? 'a condition is false');
  if (!fires) screen.line(`does not fire: ${oneLine(why)}`);
  else if (problem !== null) screen.line(`fires, but fails: ${oneLine(problem)}`);
  else screen.line(`fires\n${plainText(JSON.stringify(input ?? delivery, null, 2))}`);
}

async function setEnabled(context: Context, name: string, enabled: boolean): Promise<ExitCode> {
  const { id } = await find(context, name);
  const { setTriggerEnabled } = await (await context.client()).mutate(enableDocument, { input: { id, enabled } });
  return report(context, changed(setTriggerEnabled, setTriggerEnabled.trigger), enabled ? 'enabled' : 'disabled');
}

async function remove(context: Context, name: string): Promise<ExitCode> {
  const { id } = await find(context, name);
  const { deleteTrigger } = await (await context.client()).mutate(deleteDocument, { id });
  return report(context, changed(deleteTrigger, deleteTrigger.trigger), 'deleted');
}

function report({ json, emit, screen }: Context, trigger: Trigger, what: string): ExitCode {
  if (json) emit(trigger);
  else screen.line(`${what} ${nameOf(asRead(trigger.definition))}`);
  return exitCodes.ok;
}

/** What the commands read of a definition. */
interface ReadDefinition {
  readonly database: string;
  readonly triggerId: string;
  readonly source: string;
  readonly collection: string | null;
  readonly events: readonly string[];
  readonly url: string | null;
  readonly start: { readonly workflow: string | null } | null;
}

/** The server fills in all fields. */
function asRead(definition: unknown): ReadDefinition {
  return definition as ReadDefinition; // the type of `Trigger.definition` is JSON, and docs/triggers.md lists the fields
}
