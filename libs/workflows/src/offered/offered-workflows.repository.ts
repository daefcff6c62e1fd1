import { Injectable } from '@nestjs/common';

import { Postgres } from '#platform';
import type { ApprovalPolicy } from '#tools';

import type { VersionRef } from '../definitions/versions-in-use.js';

/** A node of a workflow, as its job was accepted. */
export interface CallingNode {
  readonly id: string;
  /** Where it may stand: the workflow and its subflows. */
  readonly definitions: readonly VersionRef[];
  /** By the names that nodes give them. */
  readonly agents: Readonly<Record<string, VersionRef>>;
}

/** What a sub-job takes over from the job that called for it. */
export interface CallingJob {
  /** A provider key given for that job, sealed for its row. */
  readonly keyCipher: Uint8Array | null;
  /** Rules of its request: they hold for what it calls for as well. */
  readonly toolApproval: ApprovalPolicy | null;
  /** Layers of the agents whose calls have led to it. */
  readonly callerPolicies: readonly ApprovalPolicy[] | null;
  /** Who answers in it; null: nobody does, or it is a workflow. */
  readonly agent: VersionRef | null;
  /** The node that calls; null: none does. */
  readonly node: CallingNode | null;
  /** Workflows that it and those above it run. */
  readonly workflowIds: readonly string[];
}

const offeredSql = `SELECT id, published_version AS version, coalesce(tool_slug, slug) AS "toolSlug" FROM workflow
 WHERE workspace_id = $1 AND deleted_at IS NULL AND offered_as_tool AND published_version IS NOT NULL ORDER BY id LIMIT $2`;

/** Of a call with the id $3. A job that was to choose its agent says in its round 0 which one it is. */
const agentSql = `coalesce(nullif(j.input->'agent', 'null'), CASE WHEN j.input ? 'routing' THEN (SELECT r.captured::jsonb FROM round r
    WHERE r.workspace_id = j.workspace_id AND r.job_id = j.id AND r.number = 0) END)`;
const nodeSql = `(SELECT jsonb_build_object('id', n.node_id, 'agents', coalesce(j.input->'agents', '{}'),
      'definitions', jsonb_build_array(jsonb_build_object('id', j.workflow_id, 'version', j.workflow_version))
        || coalesce((SELECT jsonb_agg(s.value) FROM jsonb_each(j.input->'subflows') s), '[]'))
    FROM tool_call c JOIN round r ON r.workspace_id = c.workspace_id AND r.job_id = c.job_id AND r.number = c.round
    JOIN node_run n ON n.workspace_id = r.workspace_id AND n.job_id = r.job_id AND n.ordinal = r.node_run
   WHERE c.workspace_id = j.workspace_id AND c.job_id = j.id AND c.id = $3)`;

/** Two levels are all there are above a call. */
const callingSql = `SELECT j.key_cipher AS "keyCipher", j.input->'toolApproval' AS "toolApproval",
       j.input->'callerPolicies' AS "callerPolicies", ${agentSql} AS agent, ${nodeSql} AS node,
       ARRAY(SELECT a.workflow_id FROM job a WHERE a.workspace_id = j.workspace_id
           AND a.id IN (j.id, j.parent_job_id, j.root_job_id) AND a.workflow_id IS NOT NULL) AS "workflowIds"
  FROM job j WHERE j.workspace_id = $1 AND j.id = $2`;

/** Workflows as tools, for jobs at work: their right to them is the workspace's. */
@Injectable()
export class OfferedWorkflowsRepository {
  constructor(private readonly postgres: Postgres) {}

  /** Those that are offered and published, oldest first. */
  offered(workspaceId: string, limit: number): Promise<(VersionRef & { readonly toolSlug: string })[]> {
    return this.postgres.readInWorkspace(workspaceId, {
      name: 'offered-workflows',
      text: offeredSql,
      values: [workspaceId, limit],
    });
  }

  /** Null: there is no such job. */
  async callingJob(workspaceId: string, jobId: string, callId: string): Promise<CallingJob | null> {
    const [row] = await this.postgres.readInWorkspace<CallingJob>(workspaceId, {
      name: 'calling-job',
      text: callingSql,
      values: [workspaceId, jobId, callId],
    });
    return row ?? null;
  }
}
