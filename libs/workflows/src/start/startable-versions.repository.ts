import { Injectable } from '@nestjs/common';
import { LRUCache } from 'lru-cache';

import { type CommitPart, type PartRow, partRow } from '#jobs';
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

/** Checks that starts still find the versions that were looked up before: returns a row for each of them. */
const stillStartable: CommitPart<
  readonly [workspaceId: string, jobId: string, id: string, clientId: string | null, published: number | null]
> = {
  name: 'startable',
  columns: [
    ['workspace_id', 'uuid'],
    ['job_id', 'uuid'],
    ['workflow_id', 'uuid'],
    ['client_id', 'text'],
    ['published_version', 'int'],
  ],
  sql: (rows) => `SELECT f.id FROM ${rows} r
    JOIN workflow f ON f.workspace_id = r.workspace_id AND f.id = r.workflow_id AND f.deleted_at IS NULL
     AND (r.client_id IS NULL OR f.client_id = r.client_id)
     AND (r.published_version IS NULL OR f.published_version = r.published_version)`,
};

const maxRemembered = 1_000;

/**
 * Finds the versions that starts name, and remembers them: a start with a remembered version writes `stillStartableRow` and needs no round trip
 * for a look-up.
 */
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
    const key = keyOf(workspaceId, ref);
    if (found !== null && found.version !== null && found.hash !== null) this.remembered.set(key, found);
    else this.remembered.delete(key);
    return found;
  }

  /** The version that an earlier look-up of this process found; it may have been replaced or deleted since. */
  recall(workspaceId: string, ref: StartRef): StartableVersion | undefined {
    return this.remembered.get(keyOf(workspaceId, ref));
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

/** Written with a job, it makes the start fail with SQLSTATE NS001 unless a look-up of `ref` would still find `found`. */
export function stillStartableRow(
  job: { readonly workspaceId: string; readonly jobId: string },
  { ref, version }: StartRef,
  found: StartableVersion,
): PartRow {
  const clientId = isId(ref) && ref.toLowerCase() === found.id ? null : toStorableText(ref);
  const published = version === null ? found.version : null;
  return partRow(stillStartable, [job.workspaceId, job.jobId, found.id, clientId, published]);
}
