import { Injectable } from '@nestjs/common';

import { isId, Prisma, PrismaService, systemClock, toStorableText, WorkspaceBatches } from '#platform';

/** A definition as it is stored: JSON text. */
export interface StoredDefinition {
  readonly id: string;
  readonly version: number;
  readonly definition: string;
  readonly hash: string;
}

/** A version that a start can use, without its definition. Instants in ms since the epoch. */
export interface StartableVersion {
  readonly id: string;
  readonly draftHash: string;
  readonly updatedAt: number;
  readonly version: number;
  readonly hash: string;
  readonly createdAt: number;
}

/** The rows of a look-up. Without a version: none is published. Without a hash: the version does not exist. */
type Startable =
  | StartableVersion
  | { readonly id: string; readonly version: null }
  | (Pick<StartableVersion, 'id' | 'version'> & { readonly hash: null });

/** Names a workflow by our id or by the id of a client. `version` null: the published version. */
interface StartRef {
  readonly ref: string;
  readonly version: number | null;
}

const millis = (column: Prisma.Sql) => Prisma.sql`round(extract(epoch FROM ${column}) * 1000)::float8`;

const stored = { workflowId: true, number: true, definition: true, hash: true } as const;

/**
 * Published definitions for starts and for running jobs, which may use them by the right of the workspace. Versions of a deleted workflow are found
 * too, because accepted jobs continue.
 */
@Injectable()
export class DefinitionsRepository {
  private readonly starts: WorkspaceBatches<StartRef, Startable | null>;

  constructor(private readonly prisma: PrismaService) {
    this.starts = new WorkspaceBatches((workspaceId, refs) => this.findStartable(workspaceId, refs), systemClock, {
      tickMs: 0,
      maxBatch: 200,
    });
  }

  /** Null: the workflow does not exist or was deleted. Concurrent look-ups share one statement. */
  startable(workspaceId: string, ref: StartRef): Promise<Startable | null> {
    return this.starts.submit(workspaceId, ref);
  }

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

  private async findStartable(workspaceId: string, refs: readonly StartRef[]): Promise<(Startable | null)[]> {
    const wanted = JSON.stringify(
      refs.map(({ ref, version }, i) => ({ i, ref: toStorableText(ref), id: isId(ref) ? ref : null, version })),
    );
    const rows = await this.prisma.queryInWorkspace<Startable & { readonly i: number }>(
      { workspaceId },
      Prisma.sql`SELECT w.i, f.id, f.draft_hash AS "draftHash", ${millis(Prisma.sql`f.updated_at`)} AS "updatedAt",
       coalesce(w.version, f.published_version) AS version, v.hash, ${millis(Prisma.sql`v.created_at`)} AS "createdAt"
  FROM json_to_recordset(${wanted}::json) AS w(i int, ref text, id uuid, version int)
 CROSS JOIN LATERAL (SELECT * FROM workflow f WHERE f.workspace_id = ${workspaceId}::uuid AND f.deleted_at IS NULL
    AND (f.id = w.id OR f.client_id = w.ref) ORDER BY f.id = w.id DESC NULLS LAST LIMIT 1) f
  LEFT JOIN workflow_version v ON v.workspace_id = ${workspaceId}::uuid AND v.workflow_id = f.id
   AND v.number = coalesce(w.version, f.published_version)`,
    );
    const found = new Map(rows.map(({ i, ...startable }) => [i, startable]));
    return refs.map((_, i) => found.get(i) ?? null);
  }
}
