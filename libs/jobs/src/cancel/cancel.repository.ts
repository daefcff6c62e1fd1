import { Injectable } from '@nestjs/common';

import { Postgres, type SqlClient } from '#platform';

import type { NewJobEvent } from '../events/job-event.js';
import { type JobEnd, jobFinished } from '../events/job-finished.js';
import type { JobKind } from '../job.js';
import type { JobRef } from '../job.js';
import { isTerminal, type JobStatus } from '../job.lifecycle.js';
import { type ShownTexts, shownTexts } from '../text/shown-texts.js';
import { showsOf } from '../text/shown-texts.repository.js';
import { closeSql } from './close-statement.js';

/** What a cancel did. */
export interface CancelResult {
  /** `ended`: it is cancelled now. `requested`: its worker, or the next worker, will end it. `terminal`: it had ended before. */
  readonly state: 'ended' | 'requested' | 'terminal';
  readonly status: JobStatus;
  readonly threadId: string | null;
  /** Of a sub-job: the parent that waits for it. */
  readonly parentJobId: string | null;
  readonly seq: number;
}

export interface CancelOrder extends JobRef {
  /** The principal that requested the cancel. */
  readonly by: string;
  readonly reason: string;
}

interface LockedJob extends JobRef {
  readonly kind: JobKind;
  readonly epoch: number;
  readonly status: JobStatus;
  readonly threadId: string | null;
  readonly parentJobId: string | null;
  readonly lastSeq: number;
  readonly contentLength: number;
  readonly promptTokens: number;
  readonly completionTokens: number;
  readonly toolCalls: number;
  readonly rounds: number;
  readonly durationMs: number;
  readonly cancelRequested: boolean;
  readonly reason: string | null;
}

interface OpenText {
  readonly round: number;
  readonly text: string;
  readonly reasoning: string;
}

const lockSql = `SELECT workspace_id AS "workspaceId", id AS "jobId", kind, lease_epoch AS epoch, status, thread_id AS "threadId",
       parent_job_id AS "parentJobId", last_seq AS "lastSeq",
       content_length AS "contentLength", prompt_tokens AS "promptTokens", completion_tokens AS "completionTokens",
       tool_calls AS "toolCalls", rounds, cancel_requested_at IS NOT NULL AS "cancelRequested", reason,
       (extract(epoch FROM clock_timestamp() - created_at) * 1000)::float8 AS "durationMs"
  FROM job WHERE workspace_id = $1 AND id = $2 FOR NO KEY UPDATE`;

/** Text of rounds that a chat worker showed but did not finish: their deltas since the last withdrawal. */
const openTextSql = `WITH ended AS (
  SELECT (b.body->>'round')::int AS round, max(b.seq) AS seq FROM job_event b
   WHERE b.workspace_id = $1 AND b.job_id = $2 AND b.type IN ('round-finished', 'round-restarted') GROUP BY 1),
deltas AS (
  SELECT e.seq, e.type, (e.body->>'round')::int AS round, e.body->>'text' AS text FROM job_event e
   WHERE e.workspace_id = $1 AND e.job_id = $2 AND e.type IN ('text-delta', 'reasoning-delta'))
SELECT d.round, coalesce(string_agg(d.text, '' ORDER BY d.seq) FILTER (WHERE d.type = 'text-delta'), '') AS text,
       coalesce(string_agg(d.text, '' ORDER BY d.seq) FILTER (WHERE d.type = 'reasoning-delta'), '') AS reasoning
  FROM deltas d LEFT JOIN ended ON ended.round = d.round
 WHERE d.seq > coalesce(ended.seq, 0)
   AND NOT EXISTS (SELECT 1 FROM round r WHERE r.workspace_id = $1 AND r.job_id = $2 AND r.number = d.round)
 GROUP BY 1 ORDER BY 1`;

/** If $3 is null, stores the content of a workflow as a round that belongs to no node, numbered after all started rounds. */
const keepTextSql = `INSERT INTO round (workspace_id, job_id, number, model, text, reasoning, finish_reason, partial,
    usage_estimated, epoch, started_at)
  SELECT workspace_id, id, coalesce($3, 1 + greatest(0,
      (SELECT max(number) FROM round WHERE workspace_id = job.workspace_id AND job_id = job.id),
      (SELECT max((body->>'round')::int) FROM job_event
        WHERE workspace_id = job.workspace_id AND job_id = job.id AND type = 'round-started'))),
    CASE WHEN kind = 'workflow' THEN '' ELSE model END, $4, $5, 'interrupted', true, true, lease_epoch, clock_timestamp()
  FROM job WHERE workspace_id = $1 AND id = $2 AND ($3 IS NOT NULL OR NOT EXISTS (
    SELECT 1 FROM round r WHERE r.workspace_id = $1 AND r.job_id = $2 AND r.node_run IS NULL))`;

/** Ends a job that no worker runs. The new epoch fences a worker that still believes it has the lease. */
const endSql = `WITH ended AS (
  UPDATE job SET status = $3, reason = $4, error = $5, lease_epoch = lease_epoch + 1, last_seq = last_seq + 1,
         content_length = $7, lease_owner = NULL, lease_until = NULL, key_cipher = NULL, finished_at = clock_timestamp(),
         cancel_requested_at = coalesce(cancel_requested_at, CASE WHEN $3 = 'cancelled' THEN clock_timestamp() END)
   WHERE workspace_id = $1 AND id = $2 AND status IN ('queued', 'waiting') RETURNING workspace_id, id, last_seq, lease_epoch, restarts)
INSERT INTO job_event (workspace_id, job_id, seq, epoch, attempt, type, body, at)
SELECT workspace_id, id, last_seq, lease_epoch, restarts, 'job-finished', $6, clock_timestamp() FROM ended RETURNING seq`;

const requestSql = `WITH asked AS (
  UPDATE job SET cancel_requested_at = clock_timestamp(), reason = $3, last_seq = last_seq + 1
   WHERE workspace_id = $1 AND id = $2 AND status = 'running' AND cancel_requested_at IS NULL
  RETURNING workspace_id, id, last_seq, lease_epoch, restarts)
INSERT INTO job_event (workspace_id, job_id, seq, epoch, attempt, type, body, at)
SELECT workspace_id, id, last_seq, lease_epoch, restarts, 'job-cancel-requested', $4, clock_timestamp() FROM asked RETURNING seq`;

/** `admit` bounds the depth. The walk includes ended jobs, because their children may still be open. */
const openBelowSql = `WITH RECURSIVE below AS (
  SELECT id, status, depth FROM job WHERE workspace_id = $1 AND parent_job_id = $2
  UNION
  SELECT j.id, j.status, j.depth FROM below b JOIN job j ON j.workspace_id = $1 AND j.parent_job_id = b.id)
SELECT id FROM below WHERE status IN ('queued', 'running', 'waiting') ORDER BY depth, id`;

/** Ends or cancels jobs without their lease. Runs inside `withWorkspaceSql`, which hides the jobs of other workspaces. */
@Injectable()
export class CancelRepository {
  constructor(private readonly postgres: Postgres) {}

  inWorkspace<T>(workspaceId: string, work: (client: SqlClient) => Promise<T>): Promise<T> {
    return this.postgres.withWorkspaceSql(workspaceId, work);
  }

  /** Locks the job's row, then branches on its status. Null: no such job. */
  async cancel(client: SqlClient, order: CancelOrder): Promise<CancelResult | null> {
    const job = await this.lock(client, order);
    if (job === null) return null;
    const { status, threadId, parentJobId } = job;
    const of = { threadId, parentJobId };
    if (isTerminal(status)) return { state: 'terminal', status, ...of, seq: job.lastSeq };
    if (status !== 'running') {
      const seq = await this.end(client, job, { status: 'cancelled', reason: order.reason });
      return { state: 'ended', status: 'cancelled', ...of, seq };
    }
    if (!job.cancelRequested) {
      const body = JSON.stringify({ by: order.by, reason: order.reason });
      await client.query(requestSql, [order.workspaceId, order.jobId, order.reason, body]);
    }
    return { state: 'requested', status, ...of, seq: job.lastSeq + (job.cancelRequested ? 0 : 1) };
  }

  /** Descendants of the job that have not ended, nearest first. */
  async openBelow({ workspaceId, jobId }: JobRef): Promise<string[]> {
    const rows = await this.postgres.readInWorkspace<{ id: string }>(workspaceId, {
      name: 'open-sub-jobs',
      text: openBelowSql,
      values: [workspaceId, jobId],
    });
    return rows.map(({ id }) => id);
  }

  /**
   * Ends a re-queued job whose cancel is requested: its worker released it before it learned of the cancel. Null: there is nothing to
   * end.
   */
  async endIfRequested(client: SqlClient, ref: JobRef): Promise<CancelResult | null> {
    const job = await this.lock(client, ref);
    if (job?.status !== 'queued' || !job.cancelRequested) return null;
    const seq = await this.end(client, job, { status: 'cancelled', reason: job.reason ?? 'cancelled' });
    const { threadId, parentJobId } = job;
    return { state: 'ended', status: 'cancelled', threadId, parentJobId, seq };
  }

  /**
   * Closes the open calls and requests of a job whose handler must not run again, and keeps the text it has shown. The holder of the
   * lease commits the end next. Returns the length of the content in UTF-16 units; null: another worker has the lease. May be called
   * again.
   */
  abandon(held: JobRef & { readonly epoch: number }): Promise<number | null> {
    return this.inWorkspace(held.workspaceId, async (client) => {
      const job = await this.lock(client, held);
      if (job?.status !== 'running' || job.epoch !== held.epoch) return null;
      const contentLength = await this.keepShown(client, job);
      await client.query('UPDATE job SET content_length = $3 WHERE workspace_id = $1 AND id = $2', [
        ...[job.workspaceId, job.jobId, contentLength],
      ]);
      await this.close(client, job);
      return contentLength;
    });
  }

  private async lock(client: SqlClient, { workspaceId, jobId }: JobRef): Promise<LockedJob | null> {
    const { rows } = await client.query<LockedJob>(lockSql, [workspaceId, jobId]);
    return rows[0] ?? null;
  }

  /** Returns the number of the job's newest event. */
  private async close(client: SqlClient, { workspaceId, jobId }: LockedJob): Promise<number> {
    const { rows } = await client.query<{ lastSeq: number }>(closeSql, [workspaceId, jobId]);
    const [closed] = rows;
    if (closed === undefined) throw new Error(`job ${jobId} vanished under its lock`);
    return closed.lastSeq;
  }

  /** Returns the number of the job's last event. */
  private async end(client: SqlClient, job: LockedJob, end: JobEnd): Promise<number> {
    const { workspaceId, jobId } = job;
    const contentLength = await this.keepShown(client, job);
    const event: NewJobEvent = jobFinished(end, { ...job, contentLength });
    const error = end.error === undefined ? null : JSON.stringify(end.error);
    const lastSeq = await this.close(client, job);
    await client.query(endSql, [
      ...[workspaceId, jobId, end.status, end.reason],
      ...[error, JSON.stringify(event.body), contentLength],
    ]);
    return lastSeq + 1;
  }

  /** A job that ends in mid-round keeps the text that it has shown. Returns the length of the content in UTF-16 units. */
  private keepShown(client: SqlClient, job: LockedJob): Promise<number> {
    return job.kind === 'workflow' ? this.keepContent(client, job) : this.keepOpenText(client, job);
  }

  private async keepOpenText(client: SqlClient, { workspaceId, jobId, contentLength }: LockedJob): Promise<number> {
    const { rows } = await client.query<OpenText>(openTextSql, [workspaceId, jobId]);
    for (const { round, text, reasoning } of rows)
      await client.query(keepTextSql, [workspaceId, jobId, round, text, reasoning]);
    return rows.reduce((sum, { text }) => sum + text.length, contentLength);
  }

  /** The rounds of a workflow belong to its nodes, so its shown content is stored as a round without a node. */
  private async keepContent(client: SqlClient, job: LockedJob): Promise<number> {
    const { workspaceId, jobId } = job;
    const { rows } = await client.query(showsOf(job));
    const shown = shownTexts(rows as NewJobEvent[]); // the log contains nothing but NewJobEvent
    const textOf = (pieces: ShownTexts['text']) => pieces.map((piece) => piece.text).join('');
    const [text, reasoning] = [textOf(shown.text), textOf(shown.reasoning)];
    if (text !== '' || reasoning !== '') await client.query(keepTextSql, [workspaceId, jobId, null, text, reasoning]);
    return text.length;
  }
}
