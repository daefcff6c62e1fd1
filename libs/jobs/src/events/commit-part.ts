import { createHash } from 'node:crypto';

import { type AddressedMessage, sqlState } from '#platform';

import type { NewJobEvent } from './job-event.js';

/**
 * A part of the group commit: rows of one table that are written for all jobs of a batch together, or rows that are only checked. Higher
 * libs declare parts (rounds, tool calls); this lib joins their rows to the fence, so the rows of a fenced job are dropped with its events.
 */
export interface CommitPart<Row extends readonly unknown[]> {
  /** Unique and constant, because it is part of the prepared statement's name. */
  readonly name: string;
  /** Name and Postgres element type of each column, in the order of `Row`; the first two are workspace_id and job_id. */
  readonly columns: readonly (readonly [name: string, type: string])[];
  /**
   * The data-modifying statement, or a query that checks the rows. `rows` is a relation with `columns` and `lease_epoch` that contains
   * the rows of the jobs with a valid lease; the relation `up` (workspace_id, id, lease_epoch, thread_id, created_by) contains these
   * jobs. The statement must return one row for each of `rows`; otherwise nothing is written, and the commit fails with SQLSTATE NS001.
   */
  readonly sql: (rows: string) => string;
  /** The rows are messages of this queue: `sql` selects them, as `Queues.insertionOf` describes, and the commit sends them. */
  readonly queue?: 'tool-execution';
  /**
   * A second statement of the part, which may write fewer rows. `rows` is the same as for `sql`; `written` is the relation that `sql`
   * returns.
   */
  readonly beside?: (rows: string, written: string) => { readonly name: string; readonly sql: string };
  /** Each row opens an interrupt, so the commit changes the inbox. */
  readonly opensInterrupts?: true;
  /** Only for type inference: the row type of the part. */
  readonly row?: Row;
}

/** One row for a part. */
export interface PartRow {
  readonly part: CommitPart<readonly unknown[]>;
  readonly row: readonly unknown[];
  /** Of several unwritten rows of the same part, job and key, only the last one is written. */
  readonly key?: string;
  /** The message is sent in the transaction that writes the row, even if the fence refuses the row. */
  readonly message?: AddressedMessage;
}

/** Creates a type-checked `PartRow`. */
export function partRow<Row extends readonly unknown[]>(part: CommitPart<Row>, row: Row, key?: string): PartRow {
  return key === undefined ? { part, row } : { part, row, key };
}

/** Whether a commit opens or settles interrupts, so that viewers of the inbox need a hint. */
export function concernsInterrupts(events: readonly NewJobEvent[], rows: readonly PartRow[] = []): boolean {
  return (
    events.some(({ type }) => type === 'interrupt-opened' || type === 'interrupt-resolved') ||
    rows.some(({ part }) => part.opensInterrupts === true)
  );
}

/** The parts that occur in `rows`, in an order that depends on their names only. */
export function partsOf(rows: readonly PartRow[]): CommitPart<readonly unknown[]>[] {
  return [...new Set(rows.map(({ part }) => part))].sort((a, b) => (a.name < b.name ? -1 : 1));
}

/** Postgres truncates longer identifiers, also names of prepared statements, so that two long names could collide. */
const longestName = 63;

/** The unique name of the statement that does `what` with these parts. */
export function statementName(what: string, parts: readonly CommitPart<readonly unknown[]>[]): string {
  const name = [what, ...parts.map((part) => part.name)].join('+');
  if (name.length <= longestName) return name;
  return `${what}#${createHash('sha256').update(name).digest('hex').slice(0, 24)}`;
}

/** The statement that sends the messages that `select` makes. */
export type InsertionOf = (queue: 'hook.action' | 'tool-execution' | 'webhook.deliver', select: string) => string;

function noMessages(queue: string): never {
  throw new Error(`this statement sends no messages of ${queue}`);
}

/**
 * SQL clauses that follow a `WITH … up AS (…)`. Each column of a part is one array parameter, in the order of `partParameters`,
 * starting at `$first`: Postgres reads arrays at less than half the cost of the same rows in JSON.
 */
export function partClauses(
  parts: readonly CommitPart<readonly unknown[]>[],
  first: number,
  insertionOf: InsertionOf = noMessages,
): string {
  let next = first;
  return parts
    .map(({ name, columns, sql, queue, beside }) => {
      const rows = `${name}_rows`;
      const more = beside?.(rows, name);
      const arrays = columns.map(([, type]) => `$${next++}::${isArray(type) ? 'text' : type}[]`);
      const fields = columns.map(([column, type]) => (isArray(type) ? `r.${column}::${type}` : `r.${column}`));
      return `,
${rows} AS (SELECT ${fields.join(', ')}, up.lease_epoch
  FROM unnest(${arrays.join(', ')}) AS r(${columns.map(([column]) => column).join(', ')})
  JOIN up ON up.workspace_id = r.workspace_id AND up.id = r.job_id),
${name} AS (${queue === undefined ? sql(rows) : insertionOf(queue, sql(rows))})${more === undefined ? '' : `,\n${more.name} AS (${more.sql})`}`;
    })
    .join('');
}

/** Select-list entries that roll everything back if a part did not write each of its rows. */
export function partChecks(parts: readonly CommitPart<readonly unknown[]>[]): string {
  return parts
    .map(
      ({ name }) => `,
  CASE WHEN (SELECT count(*) FROM ${name}) <> (SELECT count(*) FROM ${name}_rows) THEN commit_mismatch('${name}') END`,
    )
    .join('');
}

/** The name of the part whose rows an error of `partChecks` is about; undefined for other errors. */
export function mismatchedPart(error: unknown): string | undefined {
  if (!(error instanceof Error) || sqlState(error) !== 'NS001') return undefined;
  return /part (\w+) of the commit/.exec(error.message)?.[1];
}

/** An array for each column of each part, as text. */
export function partParameters(parts: readonly CommitPart<readonly unknown[]>[], rows: readonly PartRow[]): string[] {
  return parts.flatMap((part) => {
    const own = rows.filter((row) => row.part === part);
    return part.columns.map(([, type], column) => {
      const elements = own.map(({ row }) => toElement(row[column], type));
      return toArrayText(elements, isJson(type) ? quotedJson : quoted);
    });
  });
}

function isArray(type: string): boolean {
  return type.endsWith('[]');
}

function isJson(type: string): boolean {
  return type === 'json' || type === 'jsonb';
}

/** An element of an array parameter. */
type Element = string | number | boolean | null;

function toElement(value: unknown, type: string): Element {
  if (value === null || value === undefined) return null;
  if (isJson(type)) return JSON.stringify(value);
  if (Array.isArray(value)) return toArrayText(value.map((each) => toElement(each, type)));
  if (typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean') return value;
  throw new TypeError(`a column of type ${type} has a value of type ${typeof value}`);
}

/**
 * The text of an array (PostgreSQL documentation, 8.15.6). The driver would search each element, numbers too, twice for characters to
 * escape: a tenth of our CPU time for a workflow of 50 nodes side by side. `quote` makes the element of a text.
 */
export function toArrayText(values: readonly Element[], quote: (text: string) => string = quoted): string {
  let text = '{';
  for (const value of values) {
    if (text !== '{') text += ',';
    if (value === null) text += 'NULL';
    else text += typeof value === 'string' ? quote(value) : String(value);
  }
  return `${text}}`;
}

/**
 * The element of a JSON text from `JSON.stringify`. Such a text contains neither control characters nor lone surrogates, so `JSON.stringify`
 * escapes the same characters as `quoted`, in less than half the time.
 */
export function quotedJson(json: string): string {
  return JSON.stringify(json);
}

/** In longer texts, a loop over the bytes is faster: `replace` takes up to 90 ns for each match, 0.4 s for 4 MB of quotes. */
const MAX_REPLACED_LENGTH = 1_000;

const QUOTE = 0x22;
const BACKSLASH = 0x5c;

function quoted(text: string): string {
  if (text.length > MAX_REPLACED_LENGTH) return quotedBytes(text);
  const escaped = text.includes('\\') ? text.replace(/\\/g, '\\\\') : text;
  return escaped.includes('"') ? `"${escaped.replace(/"/g, '\\"')}"` : `"${escaped}"`;
}

function quotedBytes(text: string): string {
  if (!text.includes('"') && !text.includes('\\')) return `"${text}"`;
  const bytes = Buffer.from(text);
  const escaped = Buffer.allocUnsafe(bytes.length * 2 + 2);
  let length = 0;
  escaped[length++] = QUOTE;
  for (const byte of bytes) {
    if (byte === QUOTE || byte === BACKSLASH) escaped[length++] = BACKSLASH;
    escaped[length++] = byte;
  }
  escaped[length++] = QUOTE;
  return escaped.toString('utf8', 0, length);
}
