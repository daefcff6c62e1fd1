import { Injectable } from '@nestjs/common';

import { isId, Prisma, PrismaService } from '#platform';

/** A definition as it is stored: JSON text. */
export interface StoredDefinition {
  readonly id: string;
  readonly version: number;
  readonly definition: string;
  readonly hash: string;
}

const stored = { workflowId: true, number: true, definition: true, hash: true } as const;

/**
 * Published definitions for starts and for running jobs, which may use them by the right of the workspace. Versions of a deleted workflow are found
 * too, because accepted jobs continue.
 */
@Injectable()
export class DefinitionsRepository {
  constructor(private readonly prisma: PrismaService) {}

  /** The definitions of these versions; those that do not exist are left out. */
  async pinned(
    workspaceId: string,
    pins: readonly { readonly id: string; readonly version: number }[],
  ): Promise<readonly StoredDefinition[]> {
    if (pins.length === 0) return [];
    const OR = pins.map(({ id, version }) => ({ workflowId: id, number: version }));
    const rows = await this.prisma.withWorkspace({ workspaceId }, (tx) =>
      tx.workflowVersion.findMany({ where: { workspaceId, OR }, select: stored }),
    );
    return rows.map(({ workflowId: id, number: version, definition, hash }) => ({ id, version, definition, hash }));
  }

  /** The published versions with these names (our ids or ids of clients), by name. Names without a workflow are left out. */
  async published(workspaceId: string, refs: readonly string[]): Promise<ReadonlyMap<string, StoredDefinition>> {
    if (refs.length === 0) return new Map();
    const wanted = JSON.stringify(refs.map((ref) => ({ ref, id: isId(ref) ? ref : null })));
    // Our own id has precedence: the last row of a name replaces earlier ones.
    const rows = await this.prisma.queryInWorkspace<StoredDefinition & { readonly ref: string }>(
      { workspaceId },
      Prisma.sql`SELECT w.ref, f.id, v.number AS version, v.definition, v.hash
        FROM json_to_recordset(${wanted}::json) AS w(ref text, id uuid)
        JOIN workflow f ON f.workspace_id = ${workspaceId}::uuid AND f.deleted_at IS NULL
         AND (f.id = w.id OR f.client_id = w.ref)
        JOIN workflow_version v ON v.workspace_id = f.workspace_id AND v.workflow_id = f.id AND v.number = f.published_version
       ORDER BY f.id = w.id NULLS FIRST`,
    );
    return new Map(rows.map(({ ref, ...definition }) => [ref, definition]));
  }
}
