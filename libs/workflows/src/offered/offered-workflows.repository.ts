import { Injectable } from '@nestjs/common';

import type { ApprovalPolicy } from '#approvals';
import { Prisma, PrismaService } from '#platform';

import type { VersionRef } from '../definitions/versions-in-use.js';

/** A node of a workflow in the versions that its job pinned. */
export interface CallingNode {
  readonly id: string;
  /** The workflow and the subflows that may contain it. */
  readonly definitions: readonly VersionRef[];
  /** Pinned agents by the names in nodes. */
  readonly agents: Readonly<Record<string, VersionRef>>;
}

/** What a sub-job inherits from the job that called it. */
export interface CallingJob {
  /** The provider key of that job, encrypted for its row. */
  readonly keyCipher: Uint8Array | null;
  /** The approvals that its request requires; they apply to its sub-jobs, too. */
  readonly toolApproval: ApprovalPolicy | null;
  /** Policy layers of the agents whose calls led to that job. */
  readonly callerPolicies: readonly ApprovalPolicy[] | null;
  /** The agent of the calling job; null: it has none, or it is a workflow job. */
  readonly agent: VersionRef | null;
  /** The node that calls; null: the caller is a chat. */
  readonly node: CallingNode | null;
  /** The workflows that the job and its parents run. */
  readonly workflowIds: readonly string[];
}

/** If a job chooses its agent itself, its round 0 contains the choice. */
const agent = Prisma.sql`coalesce(nullif(j.input->'agent', 'null'), CASE WHEN j.input ? 'routing' THEN (SELECT r.captured::jsonb FROM round r
    WHERE r.workspace_id = j.workspace_id AND r.job_id = j.id AND r.number = 0) END)`;
const nodeOf = (
  callId: string,
) => Prisma.sql`(SELECT jsonb_build_object('id', n.node_id, 'agents', coalesce(j.input->'agents', '{}'),
      'definitions', jsonb_build_array(jsonb_build_object('id', j.workflow_id, 'version', j.workflow_version))
        || coalesce((SELECT jsonb_agg(s.value) FROM jsonb_each(j.input->'subflows') s), '[]'))
    FROM tool_call c JOIN round r ON r.workspace_id = c.workspace_id AND r.job_id = c.job_id AND r.number = c.round
    JOIN node_run n ON n.workspace_id = r.workspace_id AND n.job_id = r.job_id AND n.ordinal = r.node_run
   WHERE c.workspace_id = j.workspace_id AND c.job_id = j.id AND c.id = ${callId}::uuid)`;

/** Workflows as tools of running jobs, which may use them by the right of the workspace. */
@Injectable()
export class OfferedWorkflowsRepository {
  constructor(private readonly prisma: PrismaService) {}

  /** Returns the published workflows that models may call, oldest first. */
  async offered(workspaceId: string, limit: number): Promise<(VersionRef & { readonly toolSlug: string })[]> {
    const isOffered = { deletedAt: null, offeredAsTool: true, publishedVersion: { not: null } };
    const rows = await this.prisma.withWorkspace({ workspaceId }, (tx) =>
      tx.workflow.findMany({
        where: { workspaceId, ...isOffered },
        orderBy: { id: 'asc' },
        take: limit,
        select: { id: true, publishedVersion: true, toolSlug: true, slug: true },
      }),
    );
    return rows.flatMap(({ id, publishedVersion: version, toolSlug, slug }) =>
      version === null ? [] : [{ id, version, toolSlug: toolSlug ?? slug }],
    );
  }

  /** Null: the job does not exist. A call has at most two levels of parent jobs. */
  async callingJob(workspaceId: string, jobId: string, callId: string): Promise<CallingJob | null> {
    const [row] = await this.prisma.queryInWorkspace<CallingJob>(
      { workspaceId },
      Prisma.sql`SELECT j.key_cipher AS "keyCipher", j.input->'toolApproval' AS "toolApproval",
       j.input->'callerPolicies' AS "callerPolicies", ${agent} AS agent, ${nodeOf(callId)} AS node,
       ARRAY(SELECT a.workflow_id FROM job a WHERE a.workspace_id = j.workspace_id
           AND a.id IN (j.id, j.parent_job_id, j.root_job_id) AND a.workflow_id IS NOT NULL) AS "workflowIds"
  FROM job j WHERE j.workspace_id = ${workspaceId}::uuid AND j.id = ${jobId}::uuid`,
    );
    return row ?? null;
  }
}
