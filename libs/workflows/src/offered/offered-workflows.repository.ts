import { Injectable } from '@nestjs/common';

import { Postgres } from '#platform';
import type { ApprovalPolicy } from '#tools';

import type { VersionRef } from '../definitions/versions-in-use.js';

/** What a sub-job takes over from the job that called for it. */
export interface CallingJob {
  /** A provider key given for that job, sealed for its row. */
  readonly keyCipher: Uint8Array | null;
  /** Rules of its request: they hold for what it calls for as well. */
  readonly toolApproval: ApprovalPolicy | null;
  /** Workflows that it and those above it run. */
  readonly workflowIds: readonly string[];
}

const offeredSql = `SELECT id, published_version AS version FROM workflow
 WHERE workspace_id = $1 AND deleted_at IS NULL AND offered_as_tool AND published_version IS NOT NULL ORDER BY id LIMIT $2`;

/** Two levels are all there are above a call. */
const callingSql = `SELECT j.key_cipher AS "keyCipher", j.input->'toolApproval' AS "toolApproval",
       ARRAY(SELECT a.workflow_id FROM job a WHERE a.workspace_id = j.workspace_id
           AND a.id IN (j.id, j.parent_job_id, j.root_job_id) AND a.workflow_id IS NOT NULL) AS "workflowIds"
  FROM job j WHERE j.workspace_id = $1 AND j.id = $2`;

/** Workflows as tools, for jobs at work: their right to them is the workspace's. */
@Injectable()
export class OfferedWorkflowsRepository {
  constructor(private readonly postgres: Postgres) {}

  /** Those that are offered and published, oldest first. */
  offered(workspaceId: string, limit: number): Promise<VersionRef[]> {
    return this.postgres.readInWorkspace(workspaceId, {
      name: 'offered-workflows',
      text: offeredSql,
      values: [workspaceId, limit],
    });
  }

  /** Null: there is no such job. */
  async callingJob(workspaceId: string, jobId: string): Promise<CallingJob | null> {
    const [row] = await this.postgres.readInWorkspace<CallingJob>(workspaceId, {
      name: 'calling-job',
      text: callingSql,
      values: [workspaceId, jobId],
    });
    return row ?? null;
  }
}
