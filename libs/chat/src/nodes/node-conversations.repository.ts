import { Injectable } from '@nestjs/common';

import type { JobRef } from '#jobs';
import { Prisma, PrismaService } from '#platform';
import type { LedgerCall } from '#tools';

import { callJson } from '../history/conversation.repository.js';
import type { CommittedRound } from '../loop/to-loop-rounds.js';

/** A committed round of a node's conversation. */
export interface NodeRound extends CommittedRound {
  readonly nodeRun: number;
  /** The reported id; null if the node run has no row. */
  readonly nodeId: string | null;
  readonly branch: string | null;
}

/** The committed rounds and calls of nodes' conversations. */
export interface StoredConversations {
  readonly rounds: readonly NodeRound[];
  /** The calls of these rounds. */
  readonly calls: readonly LedgerCall[];
}

/** The rows that a job needs to continue its conversations. */
export interface ResumedConversations extends StoredConversations {
  /** The ids of all its calls. */
  readonly callIds: readonly string[];
  /** The highest number that a round of the job ever had. */
  readonly lastRound: number;
}

interface Row {
  readonly rounds: readonly NodeRound[] | null;
  readonly calls: readonly LedgerCall[] | null;
}

interface ResumedRow extends Row {
  readonly callIds: readonly string[] | null;
  readonly lastRound: number | null;
}

/** Committed rounds as the clause `committed`, with their calls. */
const committedRounds = ({ workspaceId, jobId }: JobRef, where: Prisma.Sql) => Prisma.sql`WITH committed AS (
  SELECT r.*, n.node_id FROM round r LEFT JOIN LATERAL (SELECT n.node_id, n.status FROM node_run n WHERE n.workspace_id = ${workspaceId}::uuid AND n.job_id = ${jobId}::uuid AND n.ordinal = r.node_run) n ON true
   WHERE r.workspace_id = ${workspaceId}::uuid AND r.job_id = ${jobId}::uuid AND r.node_run IS NOT NULL AND NOT r.partial AND ${where})
SELECT (SELECT json_agg(json_build_object('number', number, 'text', text, 'reasoning', reasoning, 'finishReason', finish_reason,
      'captured', captured, 'nodeRun', node_run, 'nodeId', node_id, 'branch', branch)) FROM committed) AS rounds,
  (SELECT json_agg(${Prisma.raw(callJson)}) FROM tool_call c
    WHERE c.workspace_id = ${workspaceId}::uuid AND c.job_id = ${jobId}::uuid AND c.round IN (SELECT number FROM committed)) AS calls`;

/** The rounds of finished nodes are no longer needed. */
const isUnfinished = Prisma.sql`coalesce(n.status NOT IN ('completed', 'error', 'skipped', 'cancelled'), true)`;

/** Reads the committed conversations of nodes, as the API's role inside the workspace. */
@Injectable()
export class NodeConversationsRepository {
  constructor(private readonly prisma: PrismaService) {}

  /** The conversations of all unfinished nodes of a job. */
  async readUnfinished(job: JobRef): Promise<ResumedConversations> {
    const { workspaceId, jobId } = job;
    const [row] = await this.prisma.queryInWorkspace<ResumedRow>(
      job,
      Prisma.sql`${committedRounds(job, isUnfinished)},
  (SELECT json_agg(call_id) FROM tool_call WHERE workspace_id = ${workspaceId}::uuid AND job_id = ${jobId}::uuid) AS "callIds",
  greatest((SELECT max(number) FROM round WHERE workspace_id = ${workspaceId}::uuid AND job_id = ${jobId}::uuid),
    (SELECT max((body->>'round')::int) FROM job_event
      WHERE workspace_id = ${workspaceId}::uuid AND job_id = ${jobId}::uuid AND type = 'round-started')) AS "lastRound"`,
    );
    return { ...toStored(row), callIds: row?.callIds ?? [], lastRound: row?.lastRound ?? 0 };
  }

  /** The committed rounds and calls of one conversation. */
  async read(job: JobRef, { nodeRun, branch }: Pick<NodeRound, 'nodeRun' | 'branch'>): Promise<StoredConversations> {
    const isOf = Prisma.sql`r.node_run = ${nodeRun} AND r.branch IS NOT DISTINCT FROM ${branch}`;
    const [row] = await this.prisma.queryInWorkspace<Row>(job, committedRounds(job, isOf));
    return toStored(row);
  }
}

function toStored(row: Row | undefined): StoredConversations {
  return { rounds: row?.rounds ?? [], calls: row?.calls ?? [] };
}
