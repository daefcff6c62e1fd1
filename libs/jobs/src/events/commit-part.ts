import { createHash } from 'node:crypto';

import type { NewJobEvent } from './job-event.js';

/**
 * A part of the group commit: rows of one table, written by every job of a batch in one go. Upper floors declare parts
 * (rounds, tool calls); this floor joins them to the fence, so a fenced job's rows fall out with its events.
 */
export interface CommitPart<Row extends readonly unknown[]> {
  /** Unique and constant: part of the prepared statement's name. */
  readonly name: string;
  /** Postgres array element type of each column, in the order of `Row`; the first two are workspace_id and job_id. */
  readonly columns: readonly (readonly [name: string, type: string])[];
  /**
   * The data-modifying statement. `rows` names a relation with `columns` and `lease_epoch`, which has the rows of the jobs
   * whose lease was found valid; the relation `up` (workspace_id, id, lease_epoch, thread_id, created_by) has these jobs. It
   * must return one row per row written.
   */
  readonly sql: (rows: string) => string;
  /** A second statement of the part, which may write less or nothing: `rows` as above, `written` what `sql` returns. */
  readonly beside?: (rows: string, written: string) => { readonly name: string; readonly sql: string };
  /** A row of it opens an interrupt: the commit changes what waits for a person or a client. */
  readonly opensInterrupts?: true;
  /** Ties the row type to the part. */
  readonly row?: Row;
}

/** One row for a part. */
export interface PartRow {
  readonly part: CommitPart<readonly unknown[]>;
  readonly row: readonly unknown[];
  /** Of several rows of a part and job with the same key that wait for one write, only the last one is written. */
  readonly key?: string;
}

/** Type-checked way to make a `PartRow`. */
export function partRow<Row extends readonly unknown[]>(part: CommitPart<Row>, row: Row, key?: string): PartRow {
  return key === undefined ? { part, row } : { part, row, key };
}

/** Whether a commit opens or settles interrupts, so that viewers of the inbox are notified. */
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

/** Of an identifier in Postgres, the name of a prepared statement included: what is longer is cut, and is then another's name. */
const longestName = 63;

/** The name of the statement that does `what` with these parts; no other one has it. */
export function statementName(what: string, parts: readonly CommitPart<readonly unknown[]>[]): string {
  const name = [what, ...parts.map((part) => part.name)].join('+');
  if (name.length <= longestName) return name;
  return `${what}#${createHash('sha256').update(name).digest('hex').slice(0, 32)}`;
}

/**
 * SQL clauses that follow a `WITH … up AS (…)`. Each column of a part is an array and a parameter, in the order of
 * `partParameters`, the first one `$first`: Postgres reads them at less than half the cost of as many rows in JSON.
 */
export function partClauses(parts: readonly CommitPart<readonly unknown[]>[], first: number): string {
  let next = first;
  return parts
    .map(({ name, columns, sql, beside }) => {
      const rows = `${name}_rows`;
      const more = beside?.(rows, name);
      const arrays = columns.map(([, type]) => `$${next++}::${isArray(type) ? 'text' : type}[]`);
      const fields = columns.map(([column, type]) => (isArray(type) ? `r.${column}::${type}` : `r.${column}`));
      return `,
${rows} AS (SELECT ${fields.join(', ')}, up.lease_epoch
  FROM unnest(${arrays.join(', ')}) AS r(${columns.map(([column]) => column).join(', ')})
  JOIN up ON up.workspace_id = r.workspace_id AND up.id = r.job_id),
${name} AS (${sql(rows)})${more === undefined ? '' : `,\n${more.name} AS (${more.sql})`}`;
    })
    .join('');
}

/** Select-list entries that roll everything back when a part did not write each of its rows. */
export function partChecks(parts: readonly CommitPart<readonly unknown[]>[]): string {
  return parts
    .map(
      ({ name }) => `,
  CASE WHEN (SELECT count(*) FROM ${name}) <> (SELECT count(*) FROM ${name}_rows) THEN commit_mismatch('${name}') END`,
    )
    .join('');
}

/** An array for each column of each part. */
export function partParameters(
  parts: readonly CommitPart<readonly unknown[]>[],
  rows: readonly PartRow[],
): (readonly unknown[])[] {
  return parts.flatMap((part) => {
    const own = rows.filter((row) => row.part === part);
    return part.columns.map(([, type], column) => own.map(({ row }) => toElement(row[column], type)));
  });
}

function isArray(type: string): boolean {
  return type.endsWith('[]');
}

/** The driver writes arrays of plain values: what is more than that goes as its text. */
function toElement(value: unknown, type: string): unknown {
  if (value === null || value === undefined) return null;
  if (type === 'json' || type === 'jsonb') return JSON.stringify(value);
  return Array.isArray(value) ? toArrayText(value) : value;
}

function toArrayText(values: readonly unknown[]): string {
  return `{${values.map((value) => `"${String(value).replace(/["\\]/g, '\\$&')}"`).join(',')}}`;
}
