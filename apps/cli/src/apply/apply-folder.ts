import { CliError, usageError } from '../cli.errors.js';
import type { Context } from '../context.js';
import { type ExitCode, exitCodes } from '../exit-code.js';
import { Prompts } from '../requests/prompts.js';
import { oneLine } from '../terminal/plain-text.js';
import type { Screen, Style } from '../terminal/screen.js';
import { toCliError } from '../to-cli-error.js';
import { compare } from './compare.js';
import type { Comparison } from './comparison.js';
import { readFolder } from './read-folder.js';
import { isObject, type JsonObject, type Resource, type ResourceKind } from './resource.js';
import { ServerState } from './server-state.js';

const signs: Readonly<Record<Action, readonly [sign: string, style: Style]>> = {
  create: ['+', 'green'],
  change: ['~', 'yellow'],
  unchanged: ['=', 'dim'],
};
const MAX_VALUE_LENGTH = 60;
/** More changed fields of one file are counted, not listed. */
const MAX_FIELDS = 20;

const titles: Partial<Record<ResourceKind, string>> = {
  'mcp-server': 'MCP server',
  'syntrix-connection': 'Syntrix connection',
};

/** `the tool get_weather`, `the MCP server github`, `the approval policy`. */
function titleOf({ kind, key }: Resource): string {
  if (kind === 'policy') return 'the approval policy';
  return `the ${titles[kind] ?? kind} ${oneLine(key)}`;
}

/** One line for a file, and one for each field that changes. */
function showDifference(screen: Screen, resource: Resource, { action, fields }: Difference): void {
  const [sign, style] = signs[action];
  const head = `${sign} ${action.padEnd(9)} ${titleOf(resource)}`;
  screen.line(`${screen.ink(style, head)}  ${screen.ink('dim', resource.file)}`);
  for (const field of fields.slice(0, MAX_FIELDS)) screen.line(`    ${showField(field)}`);
  if (fields.length > MAX_FIELDS) screen.line(`    and ${fields.length - MAX_FIELDS} more fields`);
}

function showField({ path, before, after }: FieldChange): string {
  return `${oneLine(path)}: ${showValue(before)} → ${showValue(after)}`;
}

function showValue(value: unknown): string {
  if (value === undefined) return '(none)';
  const text = oneLine(JSON.stringify(value));
  return text.length > MAX_VALUE_LENGTH ? `${text.slice(0, MAX_VALUE_LENGTH)}…` : text;
}

export interface ApplyFlags {
  readonly yes?: boolean;
  readonly dryRun?: boolean;
}

/** A file, how it differs from what the server has, and how it is saved. */
interface Step {
  readonly resource: Resource;
  readonly found: Difference;
  readonly save: Comparison['save'];
}

/** Shows how the files differ from the workspace and, once confirmed, saves those that do, in order, until the first refusal. */
export async function applyFolder(context: Context, folder: string, flags: ApplyFlags): Promise<ExitCode> {
  const { screen, json, emit } = context;
  const resources = await readFolder(folder);
  const steps = await plan(context, resources);
  for (const { resource, found } of steps) {
    if (json) emit({ event: 'plan', ...shown(resource), ...found });
    else showDifference(screen, resource, found);
  }
  const changes = steps.filter(({ found }) => found.action !== 'unchanged');
  const counts = countsOf(steps);
  if (!json) screen.line(sayCounts(counts));
  const isConfirmed = changes.length > 0 && flags.dryRun !== true && (await confirm(screen, flags));
  if (isConfirmed) await save(context, changes);
  if (json) emit({ event: 'result', ...counts, applied: isConfirmed ? changes.length : 0 });
  else if (isConfirmed) screen.line(`Applied ${changes.length} of ${changes.length}.`);
  else if (changes.length > 0) screen.note('Nothing was applied.');
  return exitCodes.ok;
}

async function plan(context: Context, resources: readonly Resource[]): Promise<readonly Step[]> {
  const state = new ServerState(await context.client());
  const steps: Step[] = [];
  for (const resource of resources) {
    const { current, desired, save } = await named(resource, () => compare(state, resource));
    steps.push({ resource, found: difference(current, desired), save });
  }
  return steps;
}

async function save({ screen, json, emit }: Context, changes: readonly Step[]): Promise<void> {
  const done: string[] = [];
  for (const { resource, found, save: perform } of changes) {
    try {
      await named(resource, perform);
    } catch (error) {
      if (!(error instanceof CliError)) throw error;
      const { exitCode, code, message } = error;
      throw new CliError({ exitCode, code, message, remedy: sayStopped(done, changes.length) });
    }
    done.push(titleOf(resource));
    if (json) emit({ event: 'applied', ...shown(resource), action: found.action });
    else screen.note(`${screen.paint('green', '✓')} ${titleOf(resource)}`);
  }
}

/** Errors of the connection and of GraphQL name the file, too. */
async function named<Result>({ file }: Resource, run: () => Promise<Result>): Promise<Result> {
  try {
    return await run();
  } catch (error) {
    if (error instanceof CliError) throw error;
    const known = toCliError(error, undefined);
    if (known === null) throw error;
    const { exitCode, code, message, remedy } = known;
    throw new CliError({ exitCode, code, message: `${file}: ${message}`, remedy });
  }
}

async function confirm(screen: Screen, { yes = false }: ApplyFlags): Promise<boolean> {
  if (yes) return true;
  if (!screen.isInteractive)
    throw usageError(
      'Nothing was applied: without a terminal the changes cannot be confirmed.',
      'Add --yes to apply, or --dry-run to see the differences only.',
    );
  const prompts = new Prompts(screen, new AbortController().signal);
  const choices = [
    { value: 'no', label: 'No' },
    { value: 'yes', label: 'Yes' },
  ] as const;
  return (await screen.lend(() => prompts.choose('Apply these changes?', choices))) === 'yes';
}

function shown({ kind, key, file }: Resource) {
  return { kind, key, file };
}

function countsOf(steps: readonly Step[]): Readonly<Record<Action, number>> {
  const count = (action: Action) => steps.filter(({ found }) => found.action === action).length;
  return { create: count('create'), change: count('change'), unchanged: count('unchanged') };
}

function sayCounts({ create, change, unchanged }: Readonly<Record<Action, number>>): string {
  if (create + change === 0) return `Nothing changes: ${unchanged} unchanged.`;
  return `${create} to create, ${change} to change, ${unchanged} unchanged.`;
}

function sayStopped(done: readonly string[], total: number): string {
  const applied = done.length === 0 ? 'Nothing was applied' : `Applied before: ${done.join(', ')}`;
  return `${applied} (${done.length} of ${total}). Correct the file and run apply again: it continues from there.`;
}

/** A field that differs. `undefined` is an absent one. */
export interface FieldChange {
  /** `limits.maxRounds`, `headers.0.value`. */
  readonly path: string;
  readonly before: unknown;
  readonly after: unknown;
}

export type Action = 'create' | 'change' | 'unchanged';

export interface Difference {
  readonly action: Action;
  readonly fields: readonly FieldChange[];
}

/** What has to change so that `current` becomes `desired`. Null: there is nothing yet. The order of members has no meaning. */
export function difference(current: JsonObject | null, desired: JsonObject): Difference {
  if (current === null) return { action: 'create', fields: [] };
  const fields = [...changedFields(current, desired, [])];
  return { action: fields.length === 0 ? 'unchanged' : 'change', fields };
}

function* changedFields(before: unknown, after: unknown, path: readonly string[]): Generator<FieldChange> {
  if (isObject(before) && isObject(after)) {
    for (const name of new Set([...Object.keys(before), ...Object.keys(after)]))
      yield* changedFields(before[name], after[name], [...path, name]);
  } else if (Array.isArray(before) && Array.isArray(after) && before.length === after.length) {
    for (const [index, item] of after.entries())
      yield* changedFields(before[index] as unknown, item, [...path, String(index)]);
  } else if (before !== after) yield { path: path.join('.'), before, after };
}
