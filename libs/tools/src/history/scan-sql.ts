import type { CallTest } from './call-tests.js';
import type { IndexScan } from './index-scans.js';
import type { Bind } from './statement.js';
import type { ToolCallPlace } from './tool-call-filter.js';

/** A range of calls: those of one workspace, between two ids (both excluded), in one direction. */
export interface IdRange {
  readonly workspaceId: string;
  readonly after: string;
  readonly before: string;
  readonly direction: 'asc' | 'desc';
}

/** The first calls of a scan within a range, in order, with `columns`. `found`: the ids that the search found. */
export function scanSql(
  trail: IndexScan,
  { stretch, columns, found }: { stretch: IdRange; columns: readonly string[]; found?: readonly string[] | undefined },
  bind: Bind,
): string {
  const list = [...new Set(['id', ...columns])].map((column) => `t.${column}`).join(', ');
  const ordered = `ORDER BY t.id ${stretch.direction}`;
  const mine = `t.workspace_id = ${bind(stretch.workspaceId, 'uuid')}`;
  const within = withinSql('t', stretch, bind);
  const pieces = trail.pieces.map((piece) =>
    trail.isUnordered
      ? `(SELECT ${list} FROM tool_call t WHERE ${mine} AND ${piece(bind)} LIMIT ${trail.reach})`
      : `(SELECT ${list} FROM tool_call t WHERE ${mine} AND ${piece(bind)} AND ${within} ${ordered} LIMIT ${trail.reach})`,
  );
  if (found !== undefined) {
    const ids = `SELECT t.id FROM unnest(${bind(found, 'uuid[]')}) AS t(id) WHERE ${within} ${ordered}`;
    pieces.push(`(SELECT ${list} FROM (${ids}) f JOIN tool_call t ON ${mine} AND t.id = f.id ${ordered})`);
  }
  const where = trail.isUnordered ? `WHERE ${within}` : '';
  const max = found === undefined ? trail.reach : trail.reach + found.length;
  return `SELECT * FROM (${pieces.join('\n UNION ALL ')}) t ${where} ${ordered} LIMIT ${max}`;
}

/** The id at which a scan reaches its limit; null: the scan ends before. A loose scan must end within its limit, whatever the range. */
export function trailEndSql(trail: IndexScan, stretch: IdRange, bind: Bind): string {
  if (!trail.isUnordered)
    return `SELECT id FROM (${scanSql(trail, { stretch, columns: [] }, bind)}) w OFFSET ${trail.reach - 1}`;
  const mine = `t.workspace_id = ${bind(stretch.workspaceId, 'uuid')}`;
  const [piece] = trail.pieces;
  return `SELECT t.id FROM tool_call t WHERE ${mine} AND ${piece?.(bind) ?? 'false'} OFFSET ${trail.reach - 1} LIMIT 1`;
}

/** A range of calls by duration, from a position on: the calls of some tools, or of all. */
export interface DurationRange {
  readonly workspaceId: string;
  readonly direction: 'asc' | 'desc';
  /** Null: all tools. */
  readonly names: readonly string[] | null;
  /** The tests that the index of durations can answer. */
  readonly range: readonly CallTest[];
  readonly after: ToolCallPlace | null;
  readonly reach: number;
}

/** The first calls of the range, in the order of the index of durations. */
export function durationSql(stretch: DurationRange, columns: readonly string[], bind: Bind): string {
  const { workspaceId, direction, names, range, after, reach } = stretch;
  const list = [...new Set(['id', 'duration_ms', 'name', ...columns])].map((column) => `t.${column}`).join(', ');
  const conditions = [
    `t.workspace_id = ${bind(workspaceId, 'uuid')} AND t.duration_ms IS NOT NULL`,
    ...(names === null ? [] : [`t.name = ANY (${bind(names, 'text[]')})`]),
    ...range.map(({ sql }) => sql('t', bind)),
    ...(after === null ? [] : [beyondSql('t', { after, direction }, bind)]),
  ];
  return `SELECT ${list} FROM tool_call t WHERE ${conditions.join(' AND ')} ${byDuration('t', direction)} LIMIT ${reach}`;
}

/** The order of a list by duration. */
export function byDuration(row: string, direction: 'asc' | 'desc'): string {
  return `ORDER BY ${row}.duration_ms ${direction}, ${row}.name ${direction}, ${row}.id ${direction}`;
}

/** Whether a row comes after a position in a list by duration. */
export function beyondSql(
  row: string,
  { after, direction }: { readonly after: ToolCallPlace; readonly direction: 'asc' | 'desc' },
  bind: Bind,
): string {
  const place = `(${bind(after.durationMs ?? 0, 'int')}, ${bind(after.name ?? '', 'text')}, ${bind(after.id, 'uuid')})`;
  return `(${row}.duration_ms, ${row}.name, ${row}.id) ${direction === 'desc' ? '<' : '>'} ${place}`;
}

function withinSql(row: string, { after, before }: IdRange, bind: Bind): string {
  return `${row}.id > ${bind(after, 'uuid')} AND ${row}.id < ${bind(before, 'uuid')}`;
}

/** The columns that the tests read. */
export function columnsOf(tests: readonly CallTest[]): readonly string[] {
  return tests.flatMap(({ columns }) => columns);
}

/** All tests as one condition on the rows with this alias. */
export function testsSql(tests: readonly CallTest[], row: string, bind: Bind): string {
  return tests.length === 0 ? 'true' : tests.map(({ sql }) => sql(row, bind)).join(' AND ');
}
