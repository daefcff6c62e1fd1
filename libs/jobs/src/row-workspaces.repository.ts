import { Injectable } from '@nestjs/common';

import { isId, Postgres } from '#platform';

/** Rows with an id of their own that routes name. */
export type RowKind = 'job' | 'interrupt' | 'notification';

/** One statement for each kind: a table cannot be a parameter. */
const statements: Readonly<Record<RowKind, { readonly name: string; readonly text: string }>> = {
  job: statementOf('job'),
  interrupt: statementOf('interrupt'),
  notification: statementOf('notification'),
};

/** In which workspace a row is, for a route that a user of several workspaces calls without naming one. */
@Injectable()
export class RowWorkspacesRepository {
  constructor(private readonly postgres: Postgres) {}

  /**
   * One query for any number of workspaces. Null: none of them has such a row. Checks no rights: the caller passes only workspaces that
   * the user is a member of, so that rows of others stay absent.
   */
  async find(kind: RowKind, id: string, workspaceIds: readonly string[]): Promise<string | null> {
    if (!isId(id)) return null;
    const statement = { ...statements[kind], values: [id, workspaceIds] };
    const [rows] = await this.postgres.allAsEngine<{ workspaceId: string }>([statement]);
    return rows?.[0]?.workspaceId ?? null;
  }
}

function statementOf(table: RowKind): { readonly name: string; readonly text: string } {
  return {
    name: `workspace-of-${table}`,
    text: `SELECT workspace_id AS "workspaceId" FROM ${table} WHERE id = $1 AND workspace_id = ANY($2::uuid[]) LIMIT 1`,
  };
}
