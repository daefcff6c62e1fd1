import { Injectable } from '@nestjs/common';

import type { JobStatus, SnapshotCall } from '#jobs';
import type { ChatMessage } from '#models';
import { Prisma, PrismaService } from '#platform';

import type { NodeError, NodeExtra, NodeRunStatus } from '../engine/node-run.js';
import { usualColumns } from '../run/node-run-columns.js';

/** The beginning of a text, and the length of the whole text in UTF-8. */
export interface CutText {
  readonly text: string;
  readonly bytes: number;
}

/** The last published state of a branch; `status` null: it is running. */
export interface PublishedBranch extends CutText {
  readonly nodeId: string;
  readonly branch: string;
  readonly label: string;
  readonly status: 'completed' | 'error' | null;
}

/** The text that an active node has streamed in one of its conversations; `round`: the newest one. */
export interface Streamed extends CutText {
  readonly nodeId: string;
  readonly branch: string | null;
  readonly round: number;
}

/** An agent's response in the conversation, in any pass of a loop. */
export interface Spoken extends CutText {
  readonly ordinal: number;
  readonly nodeId: string;
  readonly path: readonly string[];
  readonly isReused: boolean;
}

/** A node run for clients; instants in ms since the epoch. */
export interface ShownRun {
  readonly ordinal: number;
  readonly nodeId: string;
  readonly path: readonly string[];
  readonly iteration: readonly number[];
  readonly type: string;
  readonly label: string;
  readonly status: NodeRunStatus;
  /** The beginning of its output; null: there is none yet. */
  readonly output: string | null;
  /** The length of the whole output in UTF-8. */
  readonly outputBytes: number | null;
  /** For jobs that ended without success: the beginning of its input. */
  readonly input: string | null;
  readonly inputBytes: number | null;
  readonly handles: readonly string[] | null;
  readonly extra: Omit<NodeExtra, 'outputs'>;
  /** Outputs of the branches of a parallel node, by `<node>:<branch>`. */
  readonly outputs: Readonly<Record<string, CutText>> | null;
  readonly error: NodeError | null;
  readonly tokens: number;
  readonly model: string | null;
  readonly startedAt: number | null;
  readonly finishedAt: number | null;
}

/** The request of a question to a person. */
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

/** The state of a workflow job, read in one statement, so that all parts are of one instant. */
export interface RunState {
  readonly status: JobStatus;
  readonly seq: number;
  readonly workflowId: string | null;
  readonly workflowVersion: number | null;
  readonly workflowName: string | null;
  readonly error: { readonly code: string; readonly message: string; readonly retryable?: boolean } | null;
  readonly createdAt: number;
  readonly finishedAt: number | null;
  readonly promptTokens: number;
  readonly completionTokens: number;
  readonly input: unknown;
  /** The conversation that the run took over; null: it began with its history and prompt. */
  readonly session: readonly ChatMessage[] | null;
  /** The newest run of each node, in the order in which nodes were first begun. */
  readonly runs: readonly ShownRun[];
  readonly questions: readonly ShownQuestion[];
  readonly calls: readonly (SnapshotCall & { readonly nodeRun: number; readonly branch: string | null })[];
  /** Branches of the newest node runs, in the order of their begin. */
  readonly published: readonly PublishedBranch[];
  readonly streamed: readonly Streamed[];
  /** The newest ones, oldest first. */
  readonly spoken: readonly Spoken[];
  /** Whether a call with an unknown outcome is open. */
  readonly isInterrupted: boolean;
}

type Listed = 'runs' | 'questions' | 'calls' | 'published' | 'streamed' | 'spoken';
/** An empty list comes as null. */
type Row = Omit<RunState, Listed> & { readonly [K in Listed]: RunState[K] | null };

const millis = (column: string) => Prisma.raw(`(extract(epoch FROM ${column}) * 1000)::float8`);
const [path, iteration, handles] = [
  Prisma.raw(usualColumns.path),
  Prisma.raw(usualColumns.iteration),
  Prisma.raw(usualColumns.handles),
];

/** Limits all texts together; longer texts are cut evenly. */
const shownCharacters = 8_388_608;
const longestShown = 32_769;
const maxCalls = 2_000;
const maxSpoken = 200;

/**
 * The text of active nodes exists only in the event log, after the event that began the node (searched newest first by the index of
 * such events; one row may pack many events): text of rounds that were not withdrawn. Nodes inside of others are shown separately.
 */
const live = (workspaceId: string, jobId: string) => Prisma.sql`begun AS (
  SELECT n.node_id, coalesce((SELECT e.seq FROM job_event e WHERE e.workspace_id = ${workspaceId}::uuid AND e.job_id = ${jobId}::uuid
      AND e.type IN ('node-started', 'packed') AND (e.body->>'nodeId' = n.node_id
        OR e.body @> jsonb_build_array(jsonb_build_array('node-started', jsonb_build_object('nodeId', n.node_id))))
      ORDER BY e.seq DESC LIMIT 1), 0) AS since
    FROM latest n JOIN job j ON j.workspace_id = ${workspaceId}::uuid AND j.id = ${jobId}::uuid
   WHERE n.status IN ('active', 'waiting') AND n.type NOT IN ('whileLoop', 'map', 'subflow')
     AND j.status IN ('queued', 'running', 'waiting')),
at_work AS (
  SELECT b.*, (SELECT e.body->>'model' FROM job_event e WHERE e.workspace_id = ${workspaceId}::uuid AND e.job_id = ${jobId}::uuid AND e.seq > b.since
      AND e.type = 'round-started' AND e.body->>'nodeId' = b.node_id ORDER BY e.seq DESC LIMIT 1) AS model FROM begun b),
withdrawn AS (
  SELECT e.body->>'round' AS round, max(e.seq) AS seq FROM job_event e WHERE e.workspace_id = ${workspaceId}::uuid AND e.job_id = ${jobId}::uuid
     AND e.seq > (SELECT min(since) FROM begun) AND e.type = 'round-restarted' GROUP BY 1),
streamed AS (
  SELECT w.node_id, e.body->>'branchId' AS branch, max((e.body->>'round')::int) AS round,
      string_agg(e.body->>'text', '' ORDER BY (e.body->>'round')::int, e.seq) AS text
    FROM begun w JOIN job_event e ON e.workspace_id = ${workspaceId}::uuid AND e.job_id = ${jobId}::uuid AND e.seq > w.since AND e.body->>'nodeId' = w.node_id
    LEFT JOIN withdrawn x ON x.round = e.body->>'round'
   WHERE e.type = 'text-delta' AND (x.seq IS NULL OR e.seq > x.seq) GROUP BY 1, 2),
published AS (
  SELECT DISTINCT ON (e.body->>'nodeId', e.body->>'branchId') e.body, n.most,
      min(e.seq) OVER (PARTITION BY e.body->>'nodeId', e.body->>'branchId') AS first
    FROM job_event e JOIN sized n ON n.node_id = e.body->>'nodeId' LEFT JOIN begun w ON w.node_id = n.node_id
   WHERE e.workspace_id = ${workspaceId}::uuid AND e.job_id = ${jobId}::uuid AND e.type IN ('branch-started', 'branch-finished')
     AND n.type = 'parallel' AND e.seq > coalesce(w.since, 0)
   ORDER BY e.body->>'nodeId', e.body->>'branchId', e.seq DESC)`;

const stateOf = (workspaceId: string, jobId: string) => Prisma.sql`WITH latest AS (
  SELECT DISTINCT ON (n.node_id) n.*, min(n.ordinal) OVER (PARTITION BY n.node_id) AS first FROM node_run n
   WHERE n.workspace_id = ${workspaceId}::uuid AND n.job_id = ${jobId}::uuid ORDER BY n.node_id, n.ordinal DESC),
sized AS (SELECT *, greatest(256, least(${longestShown}, ${shownCharacters} / count(*) OVER ()))::int AS most FROM latest),
calls AS (
  SELECT c.*, r.node_run, r.branch FROM round r JOIN tool_call c
      ON c.workspace_id = r.workspace_id AND c.job_id = r.job_id AND c.round = r.number
   WHERE r.workspace_id = ${workspaceId}::uuid AND r.job_id = ${jobId}::uuid AND r.node_run IS NOT NULL
   ORDER BY c.round DESC, c.ordinal DESC LIMIT ${maxCalls}),
${live(workspaceId, jobId)},
spoken AS (
  SELECT n.ordinal, n.node_id, ${path} AS path, n.output, n.extra FROM node_run n
   WHERE n.workspace_id = ${workspaceId}::uuid AND n.job_id = ${jobId}::uuid AND n.type = 'agent' AND n.status = 'completed' AND n.output <> ''
     AND NOT n.extra ? 'note' AND n.node_id NOT LIKE 'sf:%' ORDER BY n.ordinal DESC LIMIT ${maxSpoken})
SELECT j.status, j.last_seq AS seq, j.workflow_id AS "workflowId", f.name AS "workflowName",
  CASE WHEN j.status = 'failed' THEN j.error END AS error, ${millis('j.created_at')} AS "createdAt",
  ${millis('j.finished_at')} AS "finishedAt", j.prompt_tokens AS "promptTokens", j.completion_tokens AS "completionTokens",
  j.workflow_version AS "workflowVersion", j.input - 'resumeFrom' AS input, j.input #> '{resumeFrom,session}' AS session,
  (SELECT json_agg(json_build_object('ordinal', n.ordinal, 'nodeId', n.node_id, 'path', ${path}, 'iteration', ${iteration},
      'type', n.type, 'label', n.label, 'status', n.status, 'output', left(n.output, n.most),
      'outputBytes', octet_length(n.output), 'handles', ${handles}, 'extra', n.extra - 'outputs', 'error', n.error,
      'input', CASE WHEN j.status IN ('failed', 'cancelled') THEN left(n.input, n.most) END, 'inputBytes', octet_length(n.input),
      'outputs', CASE WHEN n.type = 'parallel' THEN (SELECT json_object_agg(o.key, json_build_object('text', left(o.value, n.most),
          'bytes', octet_length(o.value))) FROM jsonb_each_text(n.extra->'outputs') o) END,
      'tokens', n.prompt_tokens + n.completion_tokens, 'model', coalesce((SELECT r.model FROM round r WHERE r.workspace_id = ${workspaceId}::uuid
          AND r.job_id = ${jobId}::uuid AND r.node_run = n.ordinal ORDER BY r.number DESC LIMIT 1),
          (SELECT w.model FROM at_work w WHERE w.node_id = n.node_id)),
      'startedAt', ${millis('n.started_at')}, 'finishedAt', ${millis('n.finished_at')}) ORDER BY n.first) FROM sized n) AS runs,
  (SELECT json_agg(json_build_object('id', i.id, 'nodeId', i.node_id, 'status', i.status, 'request', i.request,
      'outcome', i.outcome, 'decidedBy', i.decided_by, 'decidedAt', ${millis('i.decided_at')},
      'createdAt', ${millis('i.created_at')}, 'expiresAt', ${millis('i.expires_at')}) ORDER BY i.id)
     FROM interrupt i WHERE i.workspace_id = ${workspaceId}::uuid AND i.job_id = ${jobId}::uuid AND i.kind = 'human_input') AS questions,
  (SELECT json_agg(json_build_object('round', c.round, 'ordinal', c.ordinal, 'callId', c.call_id, 'name', c.name,
      'arguments', c.arguments, 'approvedArguments', nullif(coalesce(c.executed_arguments, c.approved_arguments), c.arguments),
      'status', c.status, 'result', left(c.result, ${longestShown}), 'error', c.error,
      'nodeRun', c.node_run, 'branch', c.branch) ORDER BY c.round, c.ordinal) FROM calls c) AS calls,
  (SELECT json_agg(json_build_object('nodeId', t.body->>'nodeId', 'branch', t.body->>'branchId', 'label', t.body->>'label',
      'status', t.body->>'status', 'text', left(coalesce(t.body->>'output', ''), t.most),
      'bytes', octet_length(coalesce(t.body->>'output', ''))) ORDER BY t.first) FROM published t) AS published,
  (SELECT json_agg(json_build_object('nodeId', s.node_id, 'branch', s.branch, 'round', s.round,
      'text', left(s.text, ${longestShown}), 'bytes', octet_length(s.text)) ORDER BY s.round) FROM streamed s) AS streamed,
  (SELECT json_agg(json_build_object('ordinal', s.ordinal, 'nodeId', s.node_id, 'path', s.path,
      'isReused', coalesce((s.extra->>'isReused')::boolean, false), 'text', left(s.output, ${longestShown}),
      'bytes', octet_length(s.output)) ORDER BY s.ordinal) FROM spoken s) AS spoken,
  EXISTS (SELECT 1 FROM interrupt i WHERE i.workspace_id = ${workspaceId}::uuid AND i.job_id = ${jobId}::uuid AND i.status = 'open'
             AND i.kind = 'unknown_outcome') AS "isInterrupted"
  FROM job j LEFT JOIN workflow f ON f.workspace_id = j.workspace_id AND f.id = j.workflow_id
 WHERE j.workspace_id = ${workspaceId}::uuid AND j.id = ${jobId}::uuid AND j.kind = 'workflow'`;

/** Reads the state of whole workflow jobs, with texts shortened to 32 KiB. */
@Injectable()
export class RunStateRepository {
  constructor(private readonly prisma: PrismaService) {}

  /** The caller has checked the right to read. Null: no such workflow job. */
  async read(workspaceId: string, jobId: string): Promise<RunState | null> {
    const [row] = await this.prisma.queryInWorkspace<Row>({ workspaceId }, stateOf(workspaceId, jobId));
    if (row === undefined) return null;
    return {
      ...row,
      runs: row.runs ?? [],
      questions: row.questions ?? [],
      calls: row.calls ?? [],
      published: row.published ?? [],
      streamed: row.streamed ?? [],
      spoken: row.spoken ?? [],
    };
  }
}
