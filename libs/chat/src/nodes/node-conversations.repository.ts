import { Injectable } from '@nestjs/common';

import { Postgres } from '#platform';
import type { LedgerCall } from '#tools';

import { callJson } from '../history/conversation.repository.js';
import type { CommittedRound } from '../loop/to-loop-rounds.js';

/** A round that a conversation of a node has committed. */
export interface NodeRound extends CommittedRound {
  readonly nodeRun: number;
  /** As reported; null: the node run has no row. */
  readonly nodeId: string | null;
  readonly branch: string | null;
}

/** What conversations of nodes have said and done. */
export interface StoredConversations {
  readonly rounds: readonly NodeRound[];
  /** The calls of these rounds. */
  readonly calls: readonly LedgerCall[];
}

/** What a job needs to go on with its conversations. */
export interface ResumedConversations extends StoredConversations {
  /** The ids of all its calls. */
  readonly callIds: readonly string[];
  /** The highest number that a round of it ever had. */
  readonly lastRound: number;
}

interface JobRef {
  readonly workspaceId: string;
  readonly jobId: string;
}

interface Row {
  readonly rounds: readonly NodeRound[] | null;
  readonly calls: readonly LedgerCall[] | null;
}

interface ResumedRow extends Row {
  readonly callIds: readonly string[] | null;
  readonly lastRound: number | null;
}

const nodeOf = `SELECT n.node_id, n.status FROM node_run n WHERE n.workspace_id = $1 AND n.job_id = $2 AND n.ordinal = r.node_run`;

/** Committed rounds `said`, with their calls. */
const saidSql = (where: string) => `WITH said AS (
  SELECT r.*, n.node_id FROM round r LEFT JOIN LATERAL (${nodeOf}) n ON true
   WHERE r.workspace_id = $1 AND r.job_id = $2 AND r.node_run IS NOT NULL AND NOT r.partial AND ${where})
SELECT (SELECT json_agg(json_build_object('number', number, 'text', text, 'reasoning', reasoning, 'finishReason', finish_reason,
      'captured', captured, 'nodeRun', node_run, 'nodeId', node_id, 'branch', branch)) FROM said) AS rounds,
  (SELECT json_agg(${callJson}) FROM tool_call c
    WHERE c.workspace_id = $1 AND c.job_id = $2 AND c.round IN (SELECT number FROM said)) AS calls`;

/** What finished nodes have said is not needed any more. */
const resumeSql = `${saidSql(`coalesce(n.status NOT IN ('completed', 'error', 'skipped', 'cancelled'), true)`)},
  (SELECT json_agg(call_id) FROM tool_call WHERE workspace_id = $1 AND job_id = $2) AS "callIds",
  greatest((SELECT max(number) FROM round WHERE workspace_id = $1 AND job_id = $2),
    (SELECT max((body->>'round')::int) FROM job_event
      WHERE workspace_id = $1 AND job_id = $2 AND type = 'round-started')) AS "lastRound"`;

const oneSql = saidSql('r.node_run = $3 AND r.branch IS NOT DISTINCT FROM $4');

/** Reads what conversations of nodes have committed, as the API's role inside the workspace. */
@Injectable()
export class NodeConversationsRepository {
  constructor(private readonly postgres: Postgres) {}

  /** Those of all nodes of a job that are not finished. */
  async resume({ workspaceId, jobId }: JobRef): Promise<ResumedConversations> {
    const [row] = await this.postgres.readInWorkspace<ResumedRow>(workspaceId, {
      name: 'resumed-conversations',
      text: resumeSql,
      values: [workspaceId, jobId],
    });
    return { ...toStored(row), callIds: row?.callIds ?? [], lastRound: row?.lastRound ?? 0 };
  }

  /** One of them. */
  async read(
    { workspaceId, jobId }: JobRef,
    { nodeRun, branch }: Pick<NodeRound, 'nodeRun' | 'branch'>,
  ): Promise<StoredConversations> {
    const [row] = await this.postgres.readInWorkspace<Row>(workspaceId, {
      name: 'node-conversation',
      text: oneSql,
      values: [workspaceId, jobId, nodeRun, branch],
    });
    return toStored(row);
  }
}

function toStored(row: Row | undefined): StoredConversations {
  return { rounds: row?.rounds ?? [], calls: row?.calls ?? [] };
}
