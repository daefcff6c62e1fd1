import { Injectable } from '@nestjs/common';

import type { JobStatus, SnapshotCall } from '#jobs';
import { Postgres } from '#platform';

import type { NodeError, NodeExtra, NodeRunStatus } from '../engine/node-run.js';

/** A node run as it is shown; instants in ms since the epoch. */
export interface ShownRun {
  readonly ordinal: number;
  readonly nodeId: string;
  readonly path: readonly string[];
  readonly iteration: readonly number[];
  readonly type: string;
  readonly label: string;
  readonly status: NodeRunStatus;
  /** Its beginning; null: not yet there. */
  readonly output: string | null;
  /** Of the whole of it, in UTF-8. */
  readonly outputBytes: number | null;
  readonly extra: NodeExtra;
  readonly error: NodeError | null;
  readonly tokens: number;
  readonly model: string | null;
  readonly startedAt: number | null;
  readonly finishedAt: number | null;
}

/** A question to a person, as its request stands. */
export interface ShownQuestion {
  readonly id: string;
  readonly nodeId: string | null;
  readonly status: string;
  readonly request: Readonly<Record<string, unknown>>;
  readonly outcome: {
    readonly outcome: string;
    readonly answer?: { readonly action?: string; readonly data?: unknown };
  } | null;
  readonly decidedBy: string | null;
  readonly decidedAt: number | null;
  readonly createdAt: number;
  readonly expiresAt: number | null;
}

/** A workflow job and what it has done, read in one statement, so that nothing in it disagrees. */
export interface RunState {
  readonly status: JobStatus;
  readonly seq: number;
  readonly workflowId: string | null;
  readonly workflowName: string | null;
  readonly error: { readonly code: string; readonly message: string } | null;
  readonly createdAt: number;
  readonly finishedAt: number | null;
  readonly promptTokens: number;
  readonly completionTokens: number;
  readonly input: unknown;
  /** The newest run of each node, in the order in which nodes were first begun. */
  readonly runs: readonly ShownRun[];
  readonly questions: readonly ShownQuestion[];
  readonly calls: readonly (SnapshotCall & { readonly nodeRun: number; readonly branch: string | null })[];
  /** A call whose outcome nobody knows is open. */
  readonly isInterrupted: boolean;
}

type Listed = 'runs' | 'questions' | 'calls';
/** An empty list comes as null. */
type Row = Omit<RunState, Listed> & { readonly [K in Listed]: RunState[K] | null };

const millis = (column: string) => `(extract(epoch FROM ${column}) * 1000)::float8`;

/** All texts together; what is more is cut evenly. */
const shownCharacters = 8_388_608;
const longestShown = 32_769;
const mostCalls = 2_000;

const stateSql = `WITH latest AS (
  SELECT DISTINCT ON (n.node_id) n.*, min(n.ordinal) OVER (PARTITION BY n.node_id) AS first FROM node_run n
   WHERE n.workspace_id = $1 AND n.job_id = $2 ORDER BY n.node_id, n.ordinal DESC),
sized AS (SELECT *, greatest(256, least(${longestShown}, ${shownCharacters} / count(*) OVER ()))::int AS most FROM latest),
calls AS (
  SELECT c.*, r.node_run, r.branch FROM round r JOIN tool_call c
      ON c.workspace_id = r.workspace_id AND c.job_id = r.job_id AND c.round = r.number
   WHERE r.workspace_id = $1 AND r.job_id = $2 AND r.node_run IS NOT NULL
   ORDER BY c.round DESC, c.ordinal DESC LIMIT ${mostCalls})
SELECT j.status, j.last_seq AS seq, j.workflow_id AS "workflowId", f.name AS "workflowName",
  CASE WHEN j.status = 'failed' THEN j.error END AS error, ${millis('j.created_at')} AS "createdAt",
  ${millis('j.finished_at')} AS "finishedAt", j.prompt_tokens AS "promptTokens", j.completion_tokens AS "completionTokens",
  j.input - 'resumeFrom' AS input,
  (SELECT json_agg(json_build_object('ordinal', n.ordinal, 'nodeId', n.node_id, 'path', n.path, 'iteration', n.iteration,
      'type', n.type, 'label', n.label, 'status', n.status, 'output', left(n.output, n.most),
      'outputBytes', octet_length(n.output), 'extra', n.extra, 'error', n.error,
      'tokens', n.prompt_tokens + n.completion_tokens, 'model', (SELECT r.model FROM round r WHERE r.workspace_id = $1
          AND r.job_id = $2 AND r.node_run = n.ordinal ORDER BY r.number DESC LIMIT 1),
      'startedAt', ${millis('n.started_at')}, 'finishedAt', ${millis('n.finished_at')}) ORDER BY n.first) FROM sized n) AS runs,
  (SELECT json_agg(json_build_object('id', i.id, 'nodeId', i.node_id, 'status', i.status, 'request', i.request,
      'outcome', i.outcome, 'decidedBy', i.decided_by, 'decidedAt', ${millis('i.decided_at')},
      'createdAt', ${millis('i.created_at')}, 'expiresAt', ${millis('i.expires_at')}) ORDER BY i.id)
     FROM interrupt i WHERE i.workspace_id = $1 AND i.job_id = $2 AND i.kind = 'human_input') AS questions,
  (SELECT json_agg(json_build_object('round', c.round, 'ordinal', c.ordinal, 'callId', c.call_id, 'name', c.name,
      'arguments', c.arguments, 'status', c.status, 'result', left(c.result, ${longestShown}), 'error', c.error,
      'nodeRun', c.node_run, 'branch', c.branch) ORDER BY c.round, c.ordinal) FROM calls c) AS calls,
  EXISTS (SELECT 1 FROM interrupt i WHERE i.workspace_id = $1 AND i.job_id = $2 AND i.status = 'open'
             AND i.kind = 'unknown_outcome') AS "isInterrupted"
  FROM job j LEFT JOIN workflow f ON f.workspace_id = j.workspace_id AND f.id = j.workflow_id
 WHERE j.workspace_id = $1 AND j.id = $2 AND j.kind = 'workflow'`;

/** Reads workflow jobs whole, texts at the size of a screen. */
@Injectable()
export class RunStateRepository {
  constructor(private readonly postgres: Postgres) {}

  /** The caller has checked the right to read. Null: no such workflow job. */
  async read(workspaceId: string, jobId: string): Promise<RunState | null> {
    const statement = { name: 'workflow-state', text: stateSql, values: [workspaceId, jobId] };
    const [row] = await this.postgres.readInWorkspace<Row>(workspaceId, statement);
    if (row === undefined) return null;
    return { ...row, runs: row.runs ?? [], questions: row.questions ?? [], calls: row.calls ?? [] };
  }
}
