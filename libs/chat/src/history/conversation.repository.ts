import { Injectable } from '@nestjs/common';

import type { ChatMessage } from '#models';
import { Postgres, systemClock, WorkspaceBatches } from '#platform';
import type { LedgerCall } from '#tools';

import type { HistoryJob, HistoryMessage } from './build-history.js';

interface StoredRound {
  readonly jobId: string;
  readonly number: number;
  readonly text: string;
  readonly reasoning: string;
  readonly finishReason: string;
  readonly partial: boolean;
  readonly captured: string | null;
}

type StoredCall = LedgerCall & { readonly jobId: string };

/** The rows that a job needs to begin, or to continue after another worker. */
export interface Conversation {
  /** The thread before this job's response, oldest first. */
  readonly messages: readonly HistoryMessage[];
  /** The jobs that wrote messages of the thread. */
  readonly jobs: ReadonlyMap<string, HistoryJob>;
  /** The committed rounds and calls of this job. */
  readonly rounds: readonly StoredRound[];
  readonly calls: readonly LedgerCall[];
  /** The number of an uncommitted round whose text was shown. The text must be withdrawn before the round is requested again. */
  readonly openRound: number | null;
  /** The messages that the job's client sent after the results of a round, by round. */
  readonly messagesAfterRound: ReadonlyMap<number, readonly ChatMessage[]>;
}

/** The conversation of a new job in an empty thread. */
export const EMPTY_CONVERSATION: Conversation = {
  ...{ messages: [], jobs: new Map(), rounds: [], calls: [], openRound: null, messagesAfterRound: new Map() },
};

interface Row {
  readonly i: number;
  readonly messages: readonly HistoryMessage[] | null;
  readonly jobs: readonly { readonly id: string; readonly status: string }[] | null;
  readonly rounds: readonly StoredRound[] | null;
  readonly calls: readonly StoredCall[] | null;
  readonly openRound: number | null;
  readonly messagesAfterRound: readonly { readonly round: number; readonly messages: readonly ChatMessage[] }[] | null;
}

/** Only the newest messages of a thread enter a prompt. */
const maxMessages = 400;

/**
 * Settled calls about which no person decided need no state. A call may have had several requests. The one that approved it contains the
 * conditions, and only a `report` keeps an unknown outcome from being decided again.
 */
const stateSql = `CASE WHEN c.approval IS NOT NULL OR c.executor <> 'worker'
        OR c.status IN ('pending', 'awaiting_approval', 'awaiting_client', 'running', 'interrupted') THEN json_build_object(
      'id', c.id, 'executor', c.executor, 'runtime', c.runtime, 'approval', c.approval,
      'toolVersion', c.tool_version, 'approvedArguments', c.approved_arguments, 'decidedBy', c.decided_by,
      'sensitiveFields', (SELECT i.request->'sensitiveFields' FROM interrupt i WHERE i.workspace_id = c.workspace_id
          AND i.tool_call_id = c.id AND i.kind = 'tool_approval' ORDER BY i.id DESC LIMIT 1),
      'decisionRules', (SELECT json_build_object('decidableBy', i.decidable_by, 'fourEyes', i.four_eyes, 'adminRequired', i.admin_required)
         FROM interrupt i WHERE i.workspace_id = c.workspace_id AND i.tool_call_id = c.id AND i.kind = 'tool_approval'
          AND i.outcome->>'outcome' = 'approved' ORDER BY i.id DESC LIMIT 1),
      'startedAt', (extract(epoch FROM c.started_at) * 1000)::float8, 'attempts', c.exec_attempts, 'worker', split_part(c.exec_owner, '#', 1),
      'interruptId', (SELECT i.id FROM interrupt i
         WHERE i.workspace_id = c.workspace_id AND i.tool_call_id = c.id AND i.status = 'open'),
      'isReported', EXISTS (SELECT 1 FROM interrupt i WHERE i.workspace_id = c.workspace_id AND i.tool_call_id = c.id
         AND i.kind = 'unknown_outcome' AND i.outcome->>'outcome' = 'report')) END`;

/** A row `c` of a tool call as a `LedgerCall`, with its job. */
export const callJson = `json_build_object('jobId', c.job_id, 'round', c.round, 'ordinal', c.ordinal, 'callId', c.call_id,
      'name', c.name, 'arguments', c.arguments, 'effect', c.effect, 'status', c.status, 'result', c.result, 'error', c.error,
      'state', ${stateSql})`;

/** One statement, so that the result is consistent. `own` is the message that the job writes; rounds of nodes belong to no message. */
const conversationSql = `SELECT w.i, c.* FROM json_to_recordset($2::json) AS w(i int, job uuid, thread uuid, message uuid), LATERAL (
WITH own AS (SELECT position FROM message WHERE workspace_id = $1 AND id = w.message),
thread_messages AS (
  SELECT position, role, content, job_id AS "jobId", CASE WHEN said_to_job_id IS NOT NULL THEN
    json_build_object('jobId', said_to_job_id, 'afterRound', after_round) END AS "sentTo" FROM message
   WHERE workspace_id = $1 AND thread_id = w.thread AND position < coalesce((SELECT position FROM own), 2147483647)
   ORDER BY position DESC LIMIT ${maxMessages}),
wrote AS (SELECT id, status FROM job WHERE workspace_id = $1 AND id IN (SELECT "jobId" FROM thread_messages UNION ALL SELECT w.job))
SELECT (SELECT json_agg(thread_messages) FROM thread_messages) AS messages,
  (SELECT json_agg(wrote) FROM wrote) AS jobs,
  (SELECT json_agg(json_build_object('jobId', r.job_id, 'number', r.number, 'text', r.text, 'reasoning', r.reasoning,
      'finishReason', r.finish_reason, 'partial', r.partial, 'captured', r.captured)) FROM round r
    WHERE r.workspace_id = $1 AND r.job_id IN (SELECT id FROM wrote) AND r.node_run IS NULL) AS rounds,
  (SELECT json_agg(${callJson})
     FROM tool_call c WHERE c.workspace_id = $1 AND c.job_id IN (SELECT id FROM wrote)) AS calls,
  (SELECT (e.body->>'round')::int FROM job_event e WHERE e.workspace_id = $1 AND e.job_id = w.job
      AND e.type IN ('text-delta', 'reasoning-delta') AND e.seq > coalesce((SELECT max(b.seq) FROM job_event b
        WHERE b.workspace_id = $1 AND b.job_id = w.job AND b.type IN ('round-finished', 'round-restarted')), 0)
    LIMIT 1) AS "openRound",
  (SELECT json_agg(json_build_object('round', a.after_round, 'messages', a.said)) FROM openai_answer a
    WHERE a.workspace_id = $1 AND a.job_id = w.job AND a.said IS NOT NULL) AS "messagesAfterRound") AS c`;

/** The position of a job in a thread. */
interface Place {
  readonly workspaceId: string;
  /** Null: only the messages before `messageId` are read. */
  readonly jobId: string | null;
  readonly threadId: string | null;
  readonly messageId: string | null;
}

/** Maximum number of conversations in one statement. */
const maxTogether = 50;

/** Reads the conversations of chat jobs, as the API's role inside the workspace. */
@Injectable()
export class ConversationRepository {
  private readonly batches: WorkspaceBatches<Place, Conversation>;

  constructor(private readonly postgres: Postgres) {
    this.batches = new WorkspaceBatches((workspaceId, jobs) => this.loadAll(workspaceId, jobs), systemClock, {
      tickMs: 0,
      maxBatch: maxTogether,
    });
  }

  /**
   * Loads the conversation of a job. Jobs that are claimed together begin together, so one statement reads the conversations of a workspace.
   */
  load(job: Place): Promise<Conversation> {
    return this.batches.submit(job.workspaceId, job);
  }

  private async loadAll(workspaceId: string, jobs: readonly Place[]): Promise<(Conversation | Error)[]> {
    try {
      return await this.read(workspaceId, jobs);
    } catch (error) {
      if (jobs.length <= 1) return [error instanceof Error ? error : new Error(String(error))];
      // One of the conversations may be too large, so each is read separately.
      return (await Promise.all(jobs.map((job) => this.loadAll(workspaceId, [job])))).flat();
    }
  }

  private async read(workspaceId: string, jobs: readonly Place[]): Promise<Conversation[]> {
    const places = jobs.map(({ jobId, threadId, messageId }, i) => ({
      i,
      job: jobId,
      thread: threadId,
      message: messageId,
    }));
    const rows = await this.postgres.readInWorkspace<Row>(workspaceId, {
      name: 'conversations',
      text: conversationSql,
      values: [workspaceId, JSON.stringify(places)],
    });
    const byPlace = new Map(rows.map((row) => [row.i, row]));
    return jobs.map(({ jobId }, i) => toConversation(jobId, byPlace.get(i)));
  }
}

function toConversation(jobId: string | null, row: Row | undefined): Conversation {
  const rounds = row?.rounds ?? [];
  const calls = row?.calls ?? [];
  const others = (row?.jobs ?? []).filter(({ id }) => id !== jobId);
  return {
    messages: row?.messages ?? [],
    jobs: new Map(
      others.map(({ id, status }) => [
        id,
        {
          status,
          rounds: rounds.filter((round) => round.jobId === id),
          calls: calls.filter((call) => call.jobId === id),
        },
      ]),
    ),
    rounds: rounds.filter((round) => round.jobId === jobId),
    calls: calls.filter((call) => call.jobId === jobId),
    openRound: row?.openRound ?? null,
    messagesAfterRound: new Map((row?.messagesAfterRound ?? []).map(({ round, messages }) => [round, messages])),
  };
}
