import type { CallTest } from './call-tests.js';
import type { IndexScan } from './index-scans.js';
import type { Bind } from './statement.js';
import type { ToolCallPlace } from './tool-call-filter.js';

/** The calls a statement is about: of one workspace, between two ids (both left out), in one direction. */
export interface Stretch {
  readonly workspaceId: string;
  readonly after: string;
  readonly before: string;
  readonly direction: 'asc' | 'desc';
}

/** The first calls of a trail within a stretch, in order, with `columns`. `found`: what a search trail's search gave. */
export function trailSql(
  trail: IndexScan,
  { stretch, columns, found }: { stretch: Stretch; columns: readonly string[]; found?: readonly string[] | undefined },
  bind: Bind,
): string {
  const list = [...new Set(['id', ...columns])].map((column) => `t.${column}`).join(', ');
  const ordered = `ORDER BY t.id ${stretch.direction}`;
  const mine = `t.workspace_id = ${bind(stretch.workspaceId, 'uuid')}`;
  const within = withinSql('t', stretch, bind);
  const pieces = trail.pieces.map((piece) =>
    trail.isLoose
      ? `(SELECT ${list} FROM tool_call t WHERE ${mine} AND ${piece(bind)} LIMIT ${trail.reach})`
      : `(SELECT ${list} FROM tool_call t WHERE ${mine} AND ${piece(bind)} AND ${within} ${ordered} LIMIT ${trail.reach})`,
  );
  if (found !== undefined) {
    const ids = `SELECT t.id FROM unnest(${bind(found, 'uuid[]')}) AS t(id) WHERE ${within} ${ordered}`;
    pieces.push(`(SELECT ${list} FROM (${ids}) f JOIN tool_call t ON ${mine} AND t.id = f.id ${ordered})`);
  }
  const where = trail.isLoose ? `WHERE ${within}` : '';
  const most = found === undefined ? trail.reach : trail.reach + found.length;
  return `SELECT * FROM (${pieces.join('\n UNION ALL ')}) t ${where} ${ordered} LIMIT ${most}`;
}

/** Null, or where a trail is when its reach is used up. A loose one has to end within it, wherever the stretch lies. */
export function trailEndSql(trail: IndexScan, stretch: Stretch, bind: Bind): string {
  if (!trail.isLoose)
    return `SELECT id FROM (${trailSql(trail, { stretch, columns: [] }, bind)}) w OFFSET ${trail.reach - 1}`;
  const mine = `t.workspace_id = ${bind(stretch.workspaceId, 'uuid')}`;
  const [piece] = trail.pieces;
  return `SELECT t.id FROM tool_call t WHERE ${mine} AND ${piece?.(bind) ?? 'false'} OFFSET ${trail.reach - 1} LIMIT 1`;
}

/** Calls by duration from a place on, as far as they are looked at: those of some tools, or of all. */
export interface DurationStretch {
  readonly workspaceId: string;
  readonly direction: 'asc' | 'desc';
  /** Null: all. */
  readonly names: readonly string[] | null;
  /** The tests that the index itself answers. */
  readonly range: readonly CallTest[];
  readonly after: ToolCallPlace | null;
  readonly reach: number;
}

/** The first calls by duration, in the order of their index. */
export function durationSql(stretch: DurationStretch, columns: readonly string[], bind: Bind): string {
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

/** Whether a row comes after a place in a list by duration. */
export function beyondSql(
  row: string,
  { after, direction }: { readonly after: ToolCallPlace; readonly direction: 'asc' | 'desc' },
  bind: Bind,
): string {
  const place = `(${bind(after.durationMs ?? 0, 'int')}, ${bind(after.name ?? '', 'text')}, ${bind(after.id, 'uuid')})`;
  return `(${row}.duration_ms, ${row}.name, ${row}.id) ${direction === 'desc' ? '<' : '>'} ${place}`;
}

function withinSql(row: string, { after, before }: Stretch, bind: Bind): string {
  return `${row}.id > ${bind(after, 'uuid')} AND ${row}.id < ${bind(before, 'uuid')}`;
}

/** What tests have to know of a row. */
export function columnsOf(tests: readonly CallTest[]): readonly string[] {
  return tests.flatMap(({ columns }) => columns);
}

/** Tests as one condition on rows of this alias. */
export function testsSql(tests: readonly CallTest[], row: string, bind: Bind): string {
  return tests.length === 0 ? 'true' : tests.map(({ sql }) => sql(row, bind)).join(' AND ');
}
