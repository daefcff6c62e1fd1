import type pg from 'pg';

import type { SecretBox, SecretPlace } from './secret-box.js';

/** A column of sealed values. Each library names its own. */
export interface SealedColumn {
  readonly table: string;
  readonly column: string;
  readonly placeOf: (row: { readonly workspaceId: string; readonly id: string }) => SecretPlace;
}

/** How many values of a column were sealed again, and how many no secret of the installation opens. */
export interface Resealed {
  readonly table: string;
  readonly resealed: number;
  readonly unreadable: number;
}

const BATCH = 500;

/**
 * Seals values again with the first secret of the box where an older one sealed them. `client` acts as the owner role.
 * May run beside serving processes that have the same secrets: a value that changes meanwhile keeps its new content. May be repeated.
 */
export async function resealColumn(
  client: pg.ClientBase,
  box: SecretBox,
  { table, column, placeOf }: SealedColumn,
): Promise<Resealed> {
  let resealed = 0;
  let unreadable = 0;
  let after: readonly string[] = ['00000000-0000-0000-0000-000000000000', '00000000-0000-0000-0000-000000000000'];
  for (;;) {
    const { rows } = await client.query<{ workspace_id: string; id: string; sealed: Buffer }>(
      `SELECT workspace_id, id, ${column} AS sealed FROM ${table}
        WHERE ${column} IS NOT NULL AND (workspace_id, id) > ($1::uuid, $2::uuid)
        ORDER BY workspace_id, id LIMIT ${BATCH}`,
      [...after],
    );
    for (const row of rows) {
      const again = resealOne(box, row.sealed, placeOf({ workspaceId: row.workspace_id, id: row.id }));
      if (again === 'unreadable') unreadable += 1;
      if (again === 'current' || again === 'unreadable') continue;
      const done = await client.query(
        `UPDATE ${table} SET ${column} = $4 WHERE workspace_id = $1 AND id = $2 AND ${column} = $3`,
        [row.workspace_id, row.id, row.sealed, again],
      );
      resealed += done.rowCount ?? 0;
    }
    const last = rows.at(-1);
    if (last === undefined || rows.length < BATCH) return { table, resealed, unreadable };
    after = [last.workspace_id, last.id];
  }
}

function resealOne(box: SecretBox, sealed: Buffer, place: SecretPlace): Uint8Array | 'current' | 'unreadable' {
  if (!box.isOutdated(sealed)) return 'current';
  try {
    return box.seal(box.open(sealed, place), place);
  } catch {
    return 'unreadable';
  }
}
