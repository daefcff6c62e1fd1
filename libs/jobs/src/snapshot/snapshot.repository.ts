import { Injectable } from '@nestjs/common';

import { Prisma, PrismaService } from '#platform';

import type { NewJobEvent } from '../events/job-event.js';
import type { JobFailure, JobKind } from '../job.js';
import { isTerminal, type JobStatus } from '../job.lifecycle.js';
import type { JobLabels } from '../job-labels.js';
import { shownTexts } from '../text/shown-texts.js';

/** A committed round in a snapshot. */
export interface SnapshotRound {
  readonly number: number;
  readonly text: string;
  readonly reasoning: string;
  readonly finishReason: string;
  readonly usage: SnapshotUsage;
}

/** Tokens counted so far. `estimated`: the provider did not report the tokens of at least one round. */
export interface SnapshotUsage {
  readonly promptTokens: number;
  readonly completionTokens: number;
  readonly estimated: boolean;
}

/** A tool call in a snapshot: raw, with its stored texts. */
export interface SnapshotCall {
  readonly round: number;
  readonly ordinal: number;
  readonly callId: string;
  readonly name: string;
  /** The arguments that the model proposed. */
  readonly arguments: string;
  /** The arguments with which the call was started, else the approved ones; null or absent: equal to `arguments`. */
  readonly approvedArguments?: string | null;
  readonly status: string;
  readonly result: string | null;
  readonly error: { readonly phase?: string; readonly message: string } | null;
  /** The call was routed to a client. */
  readonly byClient: boolean;
  /** How long it ran, ms; null or absent if it has not ended, or never ran. */
  readonly durationMs?: number | null;
}

/** An open request as it was first shown. */
export interface SnapshotInterrupt {
  readonly id: string;
  readonly kind: string;
  readonly callId: string | null;
  readonly nodeId: string | null;
  readonly title: string;
  readonly request: unknown;
  readonly expiresAt: number | null;
}

/** A job as of event `seq`, read in one statement, so that it is consistent. */
export interface JobSnapshot {
  readonly jobId: string;
  readonly kind: JobKind;
  readonly status: JobStatus;
  readonly seq: number;
  readonly ended: boolean;
  /** How often the job withdrew shown text. */
  readonly attempt: number;
  readonly threadId: string | null;
  readonly messageId: string | null;
  /** For a chat of another system: the id that its user has there; else null or absent. */
  readonly externalUserId?: string | null;
  readonly model: string;
  readonly labels: JobLabels;
  readonly startedAt: number;
  readonly completedAt: number | null;
  readonly error: JobFailure | null;
  /** Finish reason, error code, or the reason of the cancel. */
  readonly reason: string | null;
  readonly usage: SnapshotUsage;
  /** Number of committed rounds, including those of workflow nodes. */
  readonly roundCount: number;
  /** Text of the committed rounds, then of the open round. */
  readonly content: string;
  readonly reasoning: string;
  readonly rounds: readonly SnapshotRound[];
  readonly calls: readonly SnapshotCall[];
  readonly interrupts: readonly SnapshotInterrupt[];
}

interface SnapshotRow extends Omit<JobSnapshot, 'content' | 'reasoning' | 'ended' | 'rounds' | 'calls' | 'interrupts'> {
  readonly rounds: readonly SnapshotRound[] | null;
  readonly calls: readonly SnapshotCall[] | null;
  readonly interrupts: readonly SnapshotInterrupt[] | null;
  readonly open: readonly { readonly type: string; readonly text: string }[] | null;
  readonly shown: readonly NewJobEvent[] | null;
}

/**
 * One statement reads one consistent snapshot. A chat has one open round at a time: its text is the deltas since the last boundary. Rounds of
 * a workflow are concurrent, and most of their text is not content. So the content of a workflow is read from the log, until the final output
 * is stored as a round without a node, or the deltas are trimmed.
 */
const snapshotOf = (
  workspaceId: string,
  jobId: string,
) => Prisma.sql`SELECT j.id AS "jobId", j.kind, j.status, j.last_seq AS seq, j.restarts AS attempt,
  coalesce(t.client_id, j.thread_id::text) AS "threadId", coalesce(j.message_client_id, j.message_id::text) AS "messageId",
  j.external_user AS "externalUserId", j.model, j.labels, (extract(epoch FROM j.created_at) * 1000)::float8 AS "startedAt",
  (extract(epoch FROM j.finished_at) * 1000)::float8 AS "completedAt", CASE WHEN j.status = 'failed' THEN j.error END AS error, j.reason, j.rounds AS "roundCount",
  json_build_object('promptTokens', j.prompt_tokens, 'completionTokens', j.completion_tokens, 'estimated', EXISTS (
    SELECT 1 FROM round r WHERE r.workspace_id = j.workspace_id AND r.job_id = j.id AND r.usage_estimated AND NOT r.partial)) AS usage,
  (SELECT json_agg(json_build_object('number', r.number, 'text', r.text, 'reasoning', r.reasoning,
            'finishReason', r.finish_reason, 'usage', json_build_object('promptTokens', r.prompt_tokens,
            'completionTokens', r.completion_tokens, 'estimated', r.usage_estimated AND NOT r.partial)) ORDER BY r.number)
     FROM round r WHERE r.workspace_id = j.workspace_id AND r.job_id = j.id AND r.node_run IS NULL) AS rounds,
  (SELECT json_agg(json_build_object('round', c.round, 'ordinal', c.ordinal, 'callId', c.call_id, 'name', c.name,
            'arguments', c.arguments, 'approvedArguments', nullif(coalesce(c.executed_arguments, c.approved_arguments), c.arguments),
            'status', c.status, 'result', c.result, 'error', c.error,
            'durationMs', round(extract(epoch FROM c.finished_at - c.started_at) * 1000),
            'byClient', EXISTS (SELECT 1 FROM interrupt i WHERE i.workspace_id = c.workspace_id AND i.tool_call_id = c.id
                                   AND i.kind = 'client_tool')) ORDER BY c.round, c.ordinal)
     FROM tool_call c WHERE c.workspace_id = j.workspace_id AND c.job_id = j.id) AS calls,
  (SELECT json_agg(json_build_object('id', i.id, 'kind', i.kind, 'callId', i.call_id, 'nodeId', i.node_id,
            'title', i.title, 'request', i.request, 'expiresAt', (extract(epoch FROM i.expires_at) * 1000)::float8) ORDER BY i.id)
     FROM interrupt i WHERE i.workspace_id = j.workspace_id AND i.job_id = j.id AND i.status = 'open') AS interrupts,
  CASE WHEN j.kind = 'workflow' AND j.status <> 'completed' AND NOT j.deltas_trimmed THEN
    (SELECT json_agg(json_build_object('type', e.type, 'body', e.body) ORDER BY e.seq) FROM job_event e
      WHERE e.workspace_id = j.workspace_id AND e.job_id = j.id
        AND (e.type = 'round-restarted' OR (e.type IN ('text-delta', 'reasoning-delta') AND e.body ? 'offset'))) END AS shown,
  CASE WHEN j.kind = 'chat' AND j.status NOT IN ('completed', 'failed', 'cancelled') THEN
    (SELECT json_agg(json_build_object('type', e.type, 'text', e.body->>'text') ORDER BY e.seq) FROM job_event e
      WHERE e.workspace_id = j.workspace_id AND e.job_id = j.id AND e.type IN ('text-delta', 'reasoning-delta')
        AND e.seq > coalesce((SELECT max(b.seq) FROM job_event b WHERE b.workspace_id = j.workspace_id AND b.job_id = j.id
                                 AND b.type IN ('round-finished', 'round-restarted')), 0)) END AS open
  FROM job j LEFT JOIN thread t ON t.workspace_id = j.workspace_id AND t.id = j.thread_id
 WHERE j.workspace_id = ${workspaceId}::uuid AND j.id = ${jobId}::uuid`;

/** Reads whole jobs, for viewers that connect late and for the status endpoint. */
@Injectable()
export class SnapshotRepository {
  constructor(private readonly prisma: PrismaService) {}

  /** The caller checks the right to read. Returns null if the workspace has no such job. */
  async read(workspaceId: string, jobId: string): Promise<JobSnapshot | null> {
    const [row] = await this.prisma.queryInWorkspace<SnapshotRow>({ workspaceId }, snapshotOf(workspaceId, jobId));
    if (row === undefined) return null;
    const { open, shown, ...rest } = row;
    const rounds = row.rounds ?? [];
    return {
      ...rest,
      ended: isTerminal(row.status),
      rounds,
      calls: row.calls ?? [],
      interrupts: row.interrupts ?? [],
      ...(shown === null ? contentOfRounds(rounds, open ?? []) : contentOfLog(shown)),
    };
  }
}

type Texts = Pick<JobSnapshot, 'content' | 'reasoning'>;

function contentOfRounds(rounds: readonly SnapshotRound[], open: NonNullable<SnapshotRow['open']>): Texts {
  const openText = (type: string) => open.map((delta) => (delta.type === type ? delta.text : '')).join('');
  return {
    content: rounds.map(({ text }) => text).join('') + openText('text-delta'),
    reasoning: rounds.map(({ reasoning }) => reasoning).join('') + openText('reasoning-delta'),
  };
}

function contentOfLog(events: readonly NewJobEvent[]): Texts {
  const { text, reasoning } = shownTexts(events);
  return {
    content: text.map((piece) => piece.text).join(''),
    reasoning: reasoning.map((piece) => piece.text).join(''),
  };
}
