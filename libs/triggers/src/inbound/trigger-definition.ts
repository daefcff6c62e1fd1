import { compileGlob } from './collection-glob.js';
import { compileCondition, compileExpression } from './trigger-condition.js';

export const triggerEvents = ['create', 'update', 'delete'] as const;
export type TriggerEventType = (typeof triggerEvents)[number];
export const triggerSources = ['changes', 'webhook'] as const;
/** `changes` of documents, or requests to `POST /hooks/<id of the trigger>`. */
export type TriggerSource = (typeof triggerSources)[number];

export interface RetryPolicy {
  readonly maxAttempts: number;
  /** In ms. */
  readonly initialBackoff: number;
  readonly maxBackoff: number;
}

/** The job that a trigger starts. Members that end in `Expression` are CEL over the variables of the condition. */
export interface TriggerStart {
  readonly kind: 'chat' | 'workflow';
  /** Of a workflow: our id, or the id of its document. */
  readonly workflow: string | null;
  /** Of a chat: our id of an agent, or its slug. */
  readonly agent: string | null;
  readonly model: string | null;
  /** Null: the document as JSON. */
  readonly prompt: string | null;
  /** The thread, by the id that the expression gives; jobs of one thread run one after the other. Null: a new thread for each job. */
  readonly thread: string | null;
  /** An expression whose value is a list of files of the workspace. Null or absent: none. */
  readonly attachments?: string | null;
  /** Ms between the event and the start. */
  readonly delay: number;
}

/** A valid trigger. Durations in ms. */
export interface TriggerDefinition {
  readonly triggerId: string;
  readonly version: string | null;
  readonly database: string;
  readonly source: TriggerSource;
  /** Null: of a webhook. */
  readonly collection: string | null;
  readonly events: readonly TriggerEventType[];
  /** Empty: always true. */
  readonly condition: string;
  readonly filters: readonly string[];
  /** Where the delivery goes; a path means this server. Null: the trigger starts a job. */
  readonly url: string | null;
  readonly headers: Readonly<Record<string, string>>;
  readonly retryPolicy: RetryPolicy;
  readonly timeout: number;
  readonly secretsRef: string | null;
  readonly concurrency: number;
  readonly rateLimit: number | null;
  readonly includeBefore: boolean;
  readonly issueToken: boolean;
  readonly start: TriggerStart | null;
}

/** The limits of the fields. */
export const triggerLimits = {
  name: 128,
  reference: 256,
  filters: 20,
  headers: 20,
  headerLength: 2_000,
  urlLength: 2_000,
  attempts: 20,
  timeoutMs: 30_000,
  backoffMs: 86_400_000,
  concurrency: 64,
  rate: 10_000,
  delayMs: 30 * 86_400_000,
} as const;

export const defaultRetryPolicy: RetryPolicy = { maxAttempts: 3, initialBackoff: 1_000, maxBackoff: 30_000 };

/** A trigger is refused; the message is the reason. */
export class TriggerProblem extends Error {
  override readonly name = 'TriggerProblem';
}

const namePattern = /^[a-zA-Z0-9_-]+$/;

const triggerFields = [
  ...['triggerId', 'version', 'database', 'tenant', 'source', 'collection', 'events', 'condition', 'filters', 'url'],
  ...['headers', 'retryPolicy', 'timeout', 'secretsRef', 'concurrency', 'rateLimit', 'includeBefore', 'issueToken'],
  'start',
];
const retryFields = ['maxAttempts', 'initialBackoff', 'maxBackoff'];
const startFields = ['kind', 'workflow', 'agent', 'model', 'prompt', 'thread', 'attachments', 'delay'];

/** Reads one trigger of a file or of a request. Throws `TriggerProblem`, also for a field that it does not know, which may be a typing error. */
export function parseTrigger(given: unknown, defaults: { readonly database: string }): TriggerDefinition {
  if (!isJsonObject(given)) throw new TriggerProblem('a trigger must be an object');
  assertKnown(given, triggerFields);
  const triggerId = optionalText(given, 'triggerId') ?? '';
  if (triggerId === '') throw new TriggerProblem('trigger id is required');
  if (!isName(triggerId)) throw new TriggerProblem(`invalid trigger id: ${triggerId.slice(0, 200)}`);
  const database = optionalText(given, 'database') ?? optionalText(given, 'tenant') ?? defaults.database;
  assertDatabase(database);
  const source = oneOf(given, 'source', triggerSources) ?? 'changes';
  const start = given['start'] == null ? null : parseStart(given['start']);
  const issueToken = flag(given, 'issueToken') ?? false;
  if (issueToken && start !== null) throw new TriggerProblem('issueToken and start exclude each other');
  return {
    triggerId,
    version: toVersion(given['version']),
    database,
    source,
    collection: source === 'webhook' ? null : toCollection(given),
    events: source === 'webhook' ? [] : toEvents(given['events']),
    condition: toCondition(optionalText(given, 'condition') ?? ''),
    filters: toFilters(given['filters']),
    url: toTarget(given, { source, start }),
    headers: toHeaders(given['headers']),
    retryPolicy: toRetryPolicy(given['retryPolicy']),
    timeout: duration(given, 'timeout', { fallback: 15_000, max: triggerLimits.timeoutMs }),
    secretsRef: reference(given, 'secretsRef') || null,
    concurrency: whole(given, 'concurrency', triggerLimits.concurrency) ?? 16,
    rateLimit: whole(given, 'rateLimit', triggerLimits.rate) ?? null,
    includeBefore: flag(given, 'includeBefore') ?? true,
    issueToken,
    start,
  };
}

/** `prefix` precedes the name of the field in the message, such as `start.`. */
export function assertKnown(given: JsonFields, known: readonly string[], prefix = ''): void {
  const unknown = Object.keys(given).find((name) => !known.includes(name));
  if (unknown !== undefined) throw new TriggerProblem(`unknown field: ${prefix}${unknown.slice(0, 200)}`);
}

export function assertDatabase(database: string): void {
  if (database === '') throw new TriggerProblem('database field cannot be empty');
  if (!isName(database)) throw new TriggerProblem(`invalid database: ${database.slice(0, 200)}`);
}

function isName(text: string): boolean {
  return namePattern.test(text) && text.length <= triggerLimits.name;
}

function toVersion(given: unknown): string | null {
  if (given == null) return null;
  if (typeof given === 'number') return String(given);
  if (typeof given !== 'string' || given.length > triggerLimits.name) throw new TriggerProblem('invalid version');
  return given;
}

function toCollection(given: JsonFields): string {
  const collection = optionalText(given, 'collection') ?? '';
  if (collection === '') throw new TriggerProblem('collection is required');
  if (collection.length > triggerLimits.name)
    throw new TriggerProblem(`collection must have at most ${triggerLimits.name} characters`);
  try {
    compileGlob(collection);
  } catch (error) {
    throw new TriggerProblem(`invalid collection: ${error instanceof Error ? error.message : 'unknown'}`);
  }
  return collection;
}

function toEvents(given: unknown): readonly TriggerEventType[] {
  const listed: readonly unknown[] = Array.isArray(given) ? given : [];
  if (listed.length === 0) throw new TriggerProblem('at least one event is required');
  const events = listed.map((event) => {
    const known = triggerEvents.find((type) => type === event);
    if (known === undefined) throw new TriggerProblem(`invalid event type: ${String(event).slice(0, 200)}`);
    return known;
  });
  return [...new Set(events)];
}

function toCondition(source: string): string {
  if (source.trim() === '') return '';
  const compiled = compileCondition(source);
  if (!compiled.ok) throw new TriggerProblem(`invalid condition: ${compiled.problem}`);
  return source;
}

function toFilters(given: unknown): readonly string[] {
  if (given == null) return [];
  if (!Array.isArray(given) || !given.every((filter) => typeof filter === 'string'))
    throw new TriggerProblem('filters must be a list of conditions');
  if (given.length > triggerLimits.filters)
    throw new TriggerProblem(`filters must be at most ${triggerLimits.filters}`);
  return given.map(toCondition).filter((condition) => condition !== '');
}

/** A trigger has one target: a URL, or a job. */
function toTarget(given: JsonFields, { source, start }: Pick<TriggerDefinition, 'source' | 'start'>): string | null {
  const url = optionalText(given, 'url') ?? '';
  if (url !== '' && start !== null) throw new TriggerProblem('url and start exclude each other');
  if (start !== null) return null;
  if (source === 'webhook') throw new TriggerProblem('start is required');
  if (url === '') throw new TriggerProblem('url is required');
  if (url.length > triggerLimits.urlLength)
    throw new TriggerProblem(`url must have at most ${triggerLimits.urlLength} characters`);
  if (/^\/(?!\/)/.test(url)) return url;
  const [scheme = '', rest = ''] = splitOnce(url, '://');
  if (!/^https?$/i.test(scheme) || !url.includes('://'))
    throw new TriggerProblem(`url must use http or https scheme: ${url}`);
  if (/^([/?#]|$)/.test(rest) || !URL.canParse(url)) throw new TriggerProblem(`url must have a host: ${url}`);
  return url;
}

function splitOnce(text: string, separator: string): readonly string[] {
  const at = text.indexOf(separator);
  return at < 0 ? [text] : [text.slice(0, at), text.slice(at + separator.length)];
}

function toHeaders(given: unknown): Readonly<Record<string, string>> {
  if (given == null) return {};
  if (!isJsonObject(given)) throw new TriggerProblem('headers must be an object of texts');
  const headers = Object.entries(given).map(([name, value]): [string, string] => {
    if (!/^[!#$%&'*+.^_`|~0-9A-Za-z-]{1,128}$/.test(name))
      throw new TriggerProblem(`invalid header name: ${name.slice(0, 200)}`);
    if (
      typeof value !== 'string' ||
      value.length > triggerLimits.headerLength ||
      !/^[\t\x20-\x7e\x80-\xff]*$/.test(value)
    )
      throw new TriggerProblem(`invalid value of header ${name}`);
    return [name, value];
  });
  if (headers.length > triggerLimits.headers)
    throw new TriggerProblem(`headers must be at most ${triggerLimits.headers}`);
  return Object.fromEntries(headers);
}

export function toRetryPolicy(given: unknown): RetryPolicy {
  if (given == null) return defaultRetryPolicy;
  if (!isJsonObject(given)) throw new TriggerProblem('retryPolicy must be an object');
  assertKnown(given, retryFields, 'retryPolicy.');
  const max = triggerLimits.backoffMs;
  return {
    maxAttempts: whole(given, 'maxAttempts', triggerLimits.attempts) ?? defaultRetryPolicy.maxAttempts,
    initialBackoff: duration(given, 'initialBackoff', { fallback: defaultRetryPolicy.initialBackoff, max }),
    maxBackoff: duration(given, 'maxBackoff', { fallback: defaultRetryPolicy.maxBackoff, max }),
  };
}

function parseStart(given: unknown): TriggerStart {
  if (!isJsonObject(given)) throw new TriggerProblem('start must be an object');
  assertKnown(given, startFields, 'start.');
  const kind = oneOf(given, 'kind', ['chat', 'workflow'] as const) ?? 'chat';
  const workflow = reference(given, 'workflow') ?? null;
  const agent = reference(given, 'agent') ?? null;
  if (kind === 'workflow' && workflow === null) throw new TriggerProblem('start.workflow is required');
  if (kind === 'workflow' && agent !== null) throw new TriggerProblem('start.agent belongs to a chat');
  if (kind === 'chat' && workflow !== null) throw new TriggerProblem('start.workflow belongs to a workflow');
  return {
    kind,
    workflow,
    agent,
    model: reference(given, 'model') ?? null,
    prompt: toExpression(given, 'prompt'),
    thread: toExpression(given, 'thread'),
    attachments: toExpression(given, 'attachments'),
    delay: duration(given, 'delay', { fallback: 0, max: triggerLimits.delayMs, min: 0 }),
  };
}

function toExpression(given: JsonFields, name: string): string | null {
  const source = optionalText(given, name);
  if (source === undefined || source.trim() === '') return null;
  const compiled = compileExpression(source);
  if (!compiled.ok) throw new TriggerProblem(`invalid start.${name}: ${compiled.problem}`);
  return source;
}

const unitMs: Readonly<Record<string, number>> = {
  ns: 1e-6,
  us: 1e-3,
  µs: 1e-3,
  ms: 1,
  s: 1_000,
  m: 60_000,
  h: 3_600_000,
};

/** `500ms`, `1s`, `1m30s`, or a number of nanoseconds, in ms. Null: neither. */
export function toMilliseconds(given: unknown): number | null {
  if (typeof given === 'number') return Number.isFinite(given) && given >= 0 ? given / 1e6 : null;
  if (typeof given !== 'string' || given.length > 100) return null;
  if (given === '0') return 0;
  if (!/^(\d+(\.\d+)?(ns|us|µs|ms|s|m|h))+$/.test(given)) return null;
  return [...given.matchAll(/(\d+(?:\.\d+)?)(ns|us|µs|ms|s|m|h)/g)].reduce(
    (sum, [, count, unit]) => sum + Number(count) * (unitMs[unit ?? ''] ?? 0),
    0,
  );
}

export type JsonFields = Readonly<Record<string, unknown>>;

export function isJsonObject(value: unknown): value is JsonFields {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function duration(
  given: JsonFields,
  name: string,
  { fallback, max, min = 1 }: { readonly fallback: number; readonly max: number; readonly min?: number },
): number {
  const value = given[name];
  if (value == null) return fallback;
  const ms = toMilliseconds(value);
  if (ms === null) throw new TriggerProblem(`invalid duration of ${name}: ${JSON.stringify(value).slice(0, 200)}`);
  if (ms === 0 && min > 0) return fallback; // the old format writes 0 for "not set"
  if (ms < min || ms > max) throw new TriggerProblem(`${name} must be ${min} to ${max} ms`);
  return Math.round(ms);
}

function optionalText(given: JsonFields, name: string): string | undefined {
  const value = given[name];
  if (value == null) return undefined;
  if (typeof value !== 'string') throw new TriggerProblem(`${name} must be a text`);
  return value;
}

/** The id or name of a secret, workflow, agent or model. It has a limit because a process has all triggers of a workspace in memory. */
function reference(given: JsonFields, name: string): string | undefined {
  const text = optionalText(given, name);
  if (text !== undefined && text.length > triggerLimits.reference)
    throw new TriggerProblem(`${name} must have at most ${triggerLimits.reference} characters`);
  return text;
}

function flag(given: JsonFields, name: string): boolean | undefined {
  const value = given[name];
  if (value == null) return undefined;
  if (typeof value !== 'boolean') throw new TriggerProblem(`${name} must be true or false`);
  return value;
}

function whole(given: JsonFields, name: string, max: number): number | undefined {
  const value = given[name];
  if (value == null || value === 0) return undefined; // the old format writes 0 for "not set"
  if (typeof value !== 'number' || !Number.isInteger(value) || value < 1 || value > max)
    throw new TriggerProblem(`${name} must be a whole number from 1 to ${max}`);
  return value;
}

function oneOf<const T extends string>(given: JsonFields, name: string, choices: readonly T[]): T | undefined {
  const value = given[name];
  if (value == null) return undefined;
  const known = choices.find((choice) => choice === value);
  if (known === undefined) throw new TriggerProblem(`${name} must be ${choices.join(' or ')}`);
  return known;
}
