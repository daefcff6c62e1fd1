import { Injectable } from '@nestjs/common';

import { newId, Postgres, type SqlClient } from '#platform';

import { type ApprovalPolicy, readStoredPolicy } from './approval-policy.js';

/** A version of a workspace's policy. Versions are added and never changed. */
export interface StoredPolicy {
  /** 1, 2, 3 …; 0 stands for the policy of a workspace that never saved one. */
  readonly version: number;
  readonly policy: ApprovalPolicy;
  /** Principal id of who saved it; null for version 0. */
  readonly createdBy: string | null;
  /** In ms since the epoch; null for version 0. */
  readonly createdAt: number | null;
}

/** A version to be added. */
export interface NewPolicy {
  readonly workspaceId: string;
  readonly version: number;
  readonly policy: ApprovalPolicy;
  readonly by: string;
}

interface Row {
  readonly version: number;
  readonly policy: unknown;
  readonly created_by: string;
  readonly created_at: Date;
}

const columns = 'version, policy, created_by, created_at';
const currentSql = `SELECT ${columns} FROM approval_policy WHERE workspace_id = $1 ORDER BY version DESC LIMIT 1`;
const versionSql = `SELECT ${columns} FROM approval_policy WHERE workspace_id = $1 AND version = $2`;

/** The versions of the approval policy of a workspace. The caller has asked who may. */
@Injectable()
export class ApprovalPoliciesRepository {
  constructor(private readonly postgres: Postgres) {}

  /** The newest; null: none was ever saved. */
  async findCurrent(workspaceId: string): Promise<StoredPolicy | null> {
    const statement = { name: 'approval-policy', text: currentSql, values: [workspaceId] };
    const [row] = await this.postgres.readInWorkspace<Row>(workspaceId, statement);
    return row === undefined ? null : toPolicy(row);
  }

  async findVersion(workspaceId: string, version: number): Promise<StoredPolicy | null> {
    const values = [workspaceId, version];
    const [row] = await this.postgres.readInWorkspace<Row>(workspaceId, { text: versionSql, values });
    return row === undefined ? null : toPolicy(row);
  }

  /** One transaction in which nobody else changes the workspace's policy; `current` is its newest version. */
  changing<T>(
    workspaceId: string,
    change: (client: SqlClient, current: StoredPolicy | null) => Promise<T>,
  ): Promise<T> {
    return this.postgres.withWorkspaceSql(workspaceId, async (client) => {
      await client.query('SELECT FROM workspace WHERE id = $1 FOR NO KEY UPDATE', [workspaceId]);
      // A statement of its own: the snapshot of the lock's is older than the lock.
      const { rows } = await client.query<Row>(currentSql, [workspaceId]);
      return change(client, rows[0] === undefined ? null : toPolicy(rows[0]));
    });
  }

  /** Adds the version, with its entry in the audit. */
  async insert(client: SqlClient, { workspaceId, version, policy, by }: NewPolicy): Promise<StoredPolicy> {
    const { rows } = await client.query<Row>(
      `WITH entry AS (
         INSERT INTO audit_entry (workspace_id, id, at, actor, action, subject_type, subject_id, details)
         VALUES ($1::uuid, $5::uuid, clock_timestamp(), $4::text, 'approval-policy-saved', 'Workspace', ($1::uuid)::text,
                 jsonb_build_object('version', $2::int, 'rules', $6::int)))
       INSERT INTO approval_policy (workspace_id, version, policy, created_by, created_at)
       VALUES ($1::uuid, $2::int, $3::jsonb, $4::text, clock_timestamp()) RETURNING ${columns}`,
      [workspaceId, version, JSON.stringify(policy), by, newId(), policy.rules.length],
    );
    const [row] = rows;
    if (row === undefined) throw new Error('an insert gave no row');
    return toPolicy(row);
  }
}

function toPolicy(row: Row): StoredPolicy {
  const { version, created_by: createdBy, created_at: createdAt } = row;
  return { version, policy: readStoredPolicy(row.policy), createdBy, createdAt: createdAt.getTime() };
}
