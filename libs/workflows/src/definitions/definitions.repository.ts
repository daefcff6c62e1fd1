import { Injectable } from '@nestjs/common';

import { isId, Postgres } from '#platform';

/** A definition as it is stored: JSON text. */
export interface StoredDefinition {
  readonly id: string;
  readonly version: number;
  readonly definition: string;
  readonly hash: string;
}

const pinnedSql = `SELECT v.workflow_id AS id, v.number AS version, v.definition, v.hash
  FROM unnest($2::uuid[], $3::int[]) AS w(id, version)
  JOIN workflow_version v ON v.workspace_id = $1 AND v.workflow_id = w.id AND v.number = w.version`;

// Our own id wins: of two rows for a name the last one counts.
const publishedSql = `SELECT w.ref, f.id, v.number AS version, v.definition, v.hash
  FROM json_to_recordset($2::json) AS w(ref text, id uuid)
  JOIN workflow f ON f.workspace_id = $1 AND f.deleted_at IS NULL AND (f.id = w.id OR f.client_id = w.ref)
  JOIN workflow_version v ON v.workspace_id = $1 AND v.workflow_id = f.id AND v.number = f.published_version
 ORDER BY f.id = w.id NULLS FIRST`;

/**
 * Published definitions, for starts and for jobs at work, whose right to use them is the workspace's. Versions are found also
 * when their workflow was deleted: what was accepted goes on.
 */
@Injectable()
export class DefinitionsRepository {
  constructor(private readonly postgres: Postgres) {}

  /** What these versions hold, those that do not exist left out. */
  async pinned(
    workspaceId: string,
    pins: readonly { readonly id: string; readonly version: number }[],
  ): Promise<readonly StoredDefinition[]> {
    if (pins.length === 0) return [];
    const values = [workspaceId, pins.map(({ id }) => id), pins.map(({ version }) => version)];
    return this.postgres.readInWorkspace(workspaceId, { name: 'pinned-workflows', text: pinnedSql, values });
  }

  /** What is published under these names (our ids, or clients' own), by name; what there is not is left out. */
  async published(workspaceId: string, refs: readonly string[]): Promise<ReadonlyMap<string, StoredDefinition>> {
    if (refs.length === 0) return new Map();
    const wanted = refs.map((ref) => ({ ref, id: isId(ref) ? ref : null }));
    const rows = await this.postgres.readInWorkspace<StoredDefinition & { readonly ref: string }>(workspaceId, {
      name: 'published-workflows',
      text: publishedSql,
      values: [workspaceId, JSON.stringify(wanted)],
    });
    return new Map(rows.map(({ ref, ...definition }) => [ref, definition]));
  }
}
