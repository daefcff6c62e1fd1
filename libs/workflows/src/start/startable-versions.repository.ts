import { Injectable } from '@nestjs/common';
import { LRUCache } from 'lru-cache';

import { isId, Prisma, PrismaService, systemClock, toStorableText, WorkspaceBatches } from '#platform';

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
export interface StartRef {
  readonly ref: string;
  readonly version: number | null;
}

const maxRemembered = 1_000;

/** Finds the versions that starts name, and remembers them: a start with a remembered version has `stillStartable` as its condition. */
@Injectable()
export class StartableVersionsRepository {
  private readonly remembered = new LRUCache<string, StartableVersion>({ max: maxRemembered });
  private readonly batches: WorkspaceBatches<StartRef, Startable | null>;

  constructor(private readonly prisma: PrismaService) {
    this.batches = new WorkspaceBatches((workspaceId, refs) => this.findAll(workspaceId, refs), systemClock, {
      tickMs: 0,
      maxBatch: 200,
    });
  }

  /** Null: the workflow does not exist or was deleted. Concurrent look-ups share one statement. */
  async find(workspaceId: string, ref: StartRef): Promise<Startable | null> {
    const found = await this.batches.submit(workspaceId, ref);
    if (found !== null && found.version !== null && found.hash !== null)
      this.remembered.set(keyOf(workspaceId, ref), found);
    return found;
  }

  /** The version that the last look-up of this process found. The workflow may have been changed or deleted since. */
  recall(workspaceId: string, ref: StartRef): StartableVersion | undefined {
    return this.remembered.get(keyOf(workspaceId, ref));
  }

  forget(workspaceId: string, ref: StartRef): void {
    this.remembered.delete(keyOf(workspaceId, ref));
  }

  private async findAll(workspaceId: string, refs: readonly StartRef[]): Promise<(Startable | null)[]> {
    const wanted = refs.map(({ ref, version }, i) => {
      return { i, ref: toStorableText(ref), id: isId(ref) ? ref : null, version };
    });
    const rows = await this.prisma.queryInWorkspace<Startable & { readonly i: number }>(
      { workspaceId },
      Prisma.sql`
        SELECT w.i, f.id, f.draft_hash AS "draftHash", round(extract(epoch FROM f.updated_at) * 1000)::float8 AS "updatedAt",
               coalesce(w.version, f.published_version) AS version, v.hash,
               round(extract(epoch FROM v.created_at) * 1000)::float8 AS "createdAt"
          FROM json_to_recordset(${JSON.stringify(wanted)}::json) AS w(i int, ref text, id uuid, version int)
         CROSS JOIN LATERAL (SELECT * FROM workflow f WHERE f.workspace_id = ${workspaceId}::uuid AND f.deleted_at IS NULL
            AND (f.id = w.id OR f.client_id = w.ref) ORDER BY f.id = w.id DESC NULLS LAST LIMIT 1) f
          LEFT JOIN workflow_version v ON v.workspace_id = ${workspaceId}::uuid AND v.workflow_id = f.id
           AND v.number = coalesce(w.version, f.published_version)`,
    );
    const found = new Map(rows.map(({ i, ...startable }) => [i, startable]));
    return refs.map((_, i) => found.get(i) ?? null);
  }
}

function keyOf(workspaceId: string, { ref, version }: StartRef): string {
  return `${workspaceId} ${version ?? ''} ${ref}`;
}
