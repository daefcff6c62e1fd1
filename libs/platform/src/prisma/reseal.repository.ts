import type { SecretBox, SecretPlace } from '../secrets/secret-box.js';
import { Prisma } from './generated/prisma/client.js';
import type { PrismaTransaction } from './prisma.service.js';

/** A column of sealed values. Each library declares its own. */
export interface SealedColumn {
  readonly table: string;
  readonly column: string;
  readonly placeOf: (row: { readonly workspaceId: string; readonly id: string }) => SecretPlace;
}

/** How many values of a column were sealed again, and how many cannot be opened with any secret of the installation. */
export interface Resealed {
  readonly table: string;
  readonly resealed: number;
  readonly unreadable: number;
}

interface SealedRow {
  readonly workspaceId: string;
  readonly id: string;
  readonly sealed: Uint8Array<ArrayBuffer>;
}

const BATCH = 500;

/**
 * Seals values again with the current secret of the box if an older one sealed them. `owner` has the role `nightshift_owner`. Serving
 * processes with the same secrets may run meanwhile: a value that changes concurrently keeps its new content. Idempotent.
 */
export async function resealColumn(
  owner: Pick<PrismaTransaction, '$queryRaw' | '$executeRaw'>,
  box: SecretBox,
  { placeOf, ...names }: SealedColumn,
): Promise<Resealed> {
  const [table, column] = [Prisma.raw(names.table), Prisma.raw(names.column)];
  let resealed = 0;
  let unreadable = 0;
  let [afterWorkspace, afterId] = ['00000000-0000-0000-0000-000000000000', '00000000-0000-0000-0000-000000000000'];
  for (;;) {
    const rows = await owner.$queryRaw<SealedRow[]>`
      SELECT workspace_id AS "workspaceId", id, ${column} AS sealed FROM ${table}
       WHERE ${column} IS NOT NULL AND (workspace_id, id) > (${afterWorkspace}::uuid, ${afterId}::uuid)
       ORDER BY workspace_id, id LIMIT ${BATCH}`;
    for (const { workspaceId, id, sealed } of rows) {
      const again = resealOne(box, sealed, placeOf({ workspaceId, id }));
      if (again === 'unreadable') unreadable += 1;
      if (again === 'current' || again === 'unreadable') continue;
      resealed += await owner.$executeRaw`
        UPDATE ${table} SET ${column} = ${again}
         WHERE workspace_id = ${workspaceId}::uuid AND id = ${id}::uuid AND ${column} = ${sealed}`;
    }
    const last = rows.at(-1);
    if (last === undefined || rows.length < BATCH) return { table: names.table, resealed, unreadable };
    [afterWorkspace, afterId] = [last.workspaceId, last.id];
  }
}

function resealOne(box: SecretBox, sealed: Uint8Array, place: SecretPlace): Uint8Array | 'current' | 'unreadable' {
  if (!box.isOutdated(sealed)) return 'current';
  try {
    return box.seal(box.open(sealed, place), place);
  } catch {
    return 'unreadable';
  }
}
