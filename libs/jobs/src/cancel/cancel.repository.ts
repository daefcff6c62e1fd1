import { Injectable } from '@nestjs/common';

import { Prisma, PrismaService, type PrismaTransaction } from '#platform';

import type { NewJobEvent } from '../events/job-event.js';
import { type JobEnd, jobFinished } from '../events/job-finished.js';
import type { JobKind } from '../job.js';
import type { JobRef } from '../job.js';
import { isTerminal, type JobStatus } from '../job.lifecycle.js';
import { type ShownTexts, shownTexts } from '../text/shown-texts.js';
import { showsOf } from '../text/shown-texts.repository.js';
import { closing } from './close-statement.js';

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

export interface CancelInput extends JobRef {
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

interface KeptText {
  readonly round: number | null;
  readonly text: string;
  readonly reasoning: string;
}

interface OpenText extends KeptText {
  readonly round: number;
}

const ofJob = ({ workspaceId, jobId }: JobRef) =>
  Prisma.sql`workspace_id = ${workspaceId}::uuid AND id = ${jobId}::uuid`;

/** Text of rounds that a chat worker showed but did not finish: their deltas since the last withdrawal. */
const openTextsOf = ({ workspaceId, jobId }: JobRef) => Prisma.sql`
  WITH key AS (SELECT ${workspaceId}::uuid AS workspace_id, ${jobId}::uuid AS job_id),
  closed_round AS (
    SELECT (e.body->>'round')::int AS round, max(e.seq) AS seq FROM key JOIN job_event e USING (workspace_id, job_id)
     WHERE e.type IN ('round-finished', 'round-restarted') GROUP BY 1),
  delta AS (
    SELECT e.seq, e.type, (e.body->>'round')::int AS round, e.body->>'text' AS text
      FROM key JOIN job_event e USING (workspace_id, job_id) WHERE e.type IN ('text-delta', 'reasoning-delta'))
  SELECT delta.round,
         coalesce(string_agg(delta.text, '' ORDER BY delta.seq) FILTER (WHERE delta.type = 'text-delta'), '') AS text,
         coalesce(string_agg(delta.text, '' ORDER BY delta.seq) FILTER (WHERE delta.type = 'reasoning-delta'), '') AS reasoning
    FROM delta LEFT JOIN closed_round ON closed_round.round = delta.round
   WHERE delta.seq > coalesce(closed_round.seq, 0)
     AND NOT EXISTS (SELECT 1 FROM key JOIN round r USING (workspace_id, job_id) WHERE r.number = delta.round)
   GROUP BY 1 ORDER BY 1`;

/** `admit` bounds the depth. The walk includes ended jobs, because their children may still be open. */
const openBelowOf = ({ workspaceId, jobId }: JobRef) => Prisma.sql`
  WITH RECURSIVE below AS (
    SELECT id, status, depth FROM job WHERE workspace_id = ${workspaceId}::uuid AND parent_job_id = ${jobId}::uuid
    UNION
    SELECT j.id, j.status, j.depth FROM below b JOIN job j ON j.workspace_id = ${workspaceId}::uuid AND j.parent_job_id = b.id)
  SELECT id FROM below WHERE status IN ('queued', 'running', 'waiting') ORDER BY depth, id`;

/** Ends or cancels jobs without their lease. Runs inside `withWorkspace`, which hides the jobs of other workspaces. */
@Injectable()
export class CancelRepository {
  constructor(private readonly prisma: PrismaService) {}

  inWorkspace<T>(workspaceId: string, work: (tx: PrismaTransaction) => Promise<T>): Promise<T> {
    return this.prisma.withWorkspace({ workspaceId }, work);
  }

  /** Locks the job's row, then branches on its status. Null: no such job. */
  async cancel(tx: PrismaTransaction, order: CancelInput): Promise<CancelResult | null> {
    const job = await this.lock(tx, order);
    if (job === null) return null;
    const { status, threadId, parentJobId } = job;
    const of = { threadId, parentJobId };
    if (isTerminal(status)) return { state: 'terminal', status, ...of, seq: job.lastSeq };
    if (status !== 'running') {
      const seq = await this.end(tx, job, { status: 'cancelled', reason: order.reason });
      return { state: 'ended', status: 'cancelled', ...of, seq };
    }
    if (!job.cancelRequested) {
      const body = JSON.stringify({ by: order.by, reason: order.reason });
      await tx.$executeRaw`
        WITH requested AS (
          UPDATE job SET cancel_requested_at = clock_timestamp(), reason = ${order.reason}, last_seq = last_seq + 1
           WHERE ${ofJob(order)} AND status = 'running' AND cancel_requested_at IS NULL
          RETURNING workspace_id, id, last_seq, lease_epoch, restarts)
        INSERT INTO job_event (workspace_id, job_id, seq, epoch, attempt, type, body, at)
        SELECT workspace_id, id, last_seq, lease_epoch, restarts, 'job-cancel-requested', ${body}::jsonb, clock_timestamp()
          FROM requested`;
    }
    return { state: 'requested', status, ...of, seq: job.lastSeq + (job.cancelRequested ? 0 : 1) };
  }

  /** Descendants of the job that have not ended, nearest first. */
  async openBelow(job: JobRef): Promise<string[]> {
    const rows = await this.prisma.queryInWorkspace<{ id: string }>(job, openBelowOf(job));
    return rows.map(({ id }) => id);
  }

  /**
   * Ends a re-queued job whose cancel is requested: its worker released it before it learned of the cancel. Null: there is nothing to
   * end.
   */
  async endIfRequested(tx: PrismaTransaction, ref: JobRef): Promise<CancelResult | null> {
    const job = await this.lock(tx, ref);
    if (job?.status !== 'queued' || !job.cancelRequested) return null;
    const seq = await this.end(tx, job, { status: 'cancelled', reason: job.reason ?? 'cancelled' });
    const { threadId, parentJobId } = job;
    return { state: 'ended', status: 'cancelled', threadId, parentJobId, seq };
  }

  /**
   * Closes the open calls and requests of a job whose handler must not run again, and keeps the text it has shown. The holder of the
   * lease commits the end next. Returns the length of the content in UTF-16 units; null: another worker has the lease. May be called
   * again.
   */
  abandon(held: JobRef & { readonly epoch: number }): Promise<number | null> {
    return this.inWorkspace(held.workspaceId, async (tx) => {
      const job = await this.lock(tx, held);
      if (job?.status !== 'running' || job.epoch !== held.epoch) return null;
      const contentLength = await this.keepShown(tx, job);
      const { workspaceId, jobId: id } = job;
      await tx.job.update({
        where: { workspaceId_id: { workspaceId, id } },
        data: { contentLength },
        select: { id: true },
      });
      await this.close(tx, job);
      return contentLength;
    });
  }

  private async lock(tx: PrismaTransaction, ref: JobRef): Promise<LockedJob | null> {
    const [job] = await tx.$queryRaw<LockedJob[]>`
      SELECT workspace_id AS "workspaceId", id AS "jobId", kind, lease_epoch AS epoch, status, thread_id AS "threadId",
             parent_job_id AS "parentJobId", last_seq AS "lastSeq", content_length AS "contentLength",
             prompt_tokens AS "promptTokens", completion_tokens AS "completionTokens", tool_calls AS "toolCalls", rounds,
             cancel_requested_at IS NOT NULL AS "cancelRequested", reason,
             (extract(epoch FROM clock_timestamp() - created_at) * 1000)::float8 AS "durationMs"
        FROM job WHERE ${ofJob(ref)} FOR NO KEY UPDATE`;
    return job ?? null;
  }

  /** Returns the number of the job's newest event. */
  private async close(tx: PrismaTransaction, job: LockedJob): Promise<number> {
    const [closed] = await tx.$queryRaw<{ lastSeq: number }[]>(closing(job));
    if (closed === undefined) throw new Error(`job ${job.jobId} vanished under its lock`);
    return closed.lastSeq;
  }

  /** Ends a job that no worker runs. The new epoch rejects the writes of a worker whose lease is outdated. Returns the number of its last event. */
  private async end(tx: PrismaTransaction, job: LockedJob, end: JobEnd): Promise<number> {
    const contentLength = await this.keepShown(tx, job);
    const event: NewJobEvent = jobFinished(end, { ...job, contentLength });
    const error = end.error === undefined ? null : JSON.stringify(end.error);
    const lastSeq = await this.close(tx, job);
    await tx.$executeRaw`
      WITH ended AS (
        UPDATE job SET status = ${end.status}, reason = ${end.reason}, error = ${error}::jsonb, lease_epoch = lease_epoch + 1,
               last_seq = last_seq + 1, content_length = ${contentLength}::int, lease_owner = NULL, lease_until = NULL,
               key_cipher = NULL, finished_at = clock_timestamp(),
               cancel_requested_at = coalesce(cancel_requested_at, CASE WHEN ${end.status} = 'cancelled' THEN clock_timestamp() END)
         WHERE ${ofJob(job)} AND status IN ('queued', 'waiting') RETURNING workspace_id, id, last_seq, lease_epoch, restarts)
      INSERT INTO job_event (workspace_id, job_id, seq, epoch, attempt, type, body, at)
      SELECT workspace_id, id, last_seq, lease_epoch, restarts, 'job-finished', ${JSON.stringify(event.body)}::jsonb,
             clock_timestamp() FROM ended`;
    return lastSeq + 1;
  }

  /** A job that ends in mid-round keeps the text that it has shown. Returns the length of the content in UTF-16 units. */
  private keepShown(tx: PrismaTransaction, job: LockedJob): Promise<number> {
    return job.kind === 'workflow' ? this.keepContent(tx, job) : this.keepOpenText(tx, job);
  }

  private async keepOpenText(tx: PrismaTransaction, job: LockedJob): Promise<number> {
    const open = await tx.$queryRaw<OpenText[]>(openTextsOf(job));
    for (const text of open) await this.keepText(tx, job, text);
    return open.reduce((sum, { text }) => sum + text.length, job.contentLength);
  }

  /** The rounds of a workflow belong to its nodes, so its shown content is stored as a round without a node. */
  private async keepContent(tx: PrismaTransaction, job: LockedJob): Promise<number> {
    const shown = shownTexts(await tx.$queryRaw<NewJobEvent[]>(showsOf(job))); // the log contains nothing but NewJobEvent
    const textOf = (pieces: ShownTexts['text']) => pieces.map((piece) => piece.text).join('');
    const [text, reasoning] = [textOf(shown.text), textOf(shown.reasoning)];
    if (text !== '' || reasoning !== '') await this.keepText(tx, job, { round: null, text, reasoning });
    return text.length;
  }

  /** Text without a round number belongs to no node of a workflow and gets the number after all rounds that began. */
  private async keepText(tx: PrismaTransaction, job: LockedJob, { round, text, reasoning }: KeptText): Promise<void> {
    await tx.$executeRaw`
      INSERT INTO round (workspace_id, job_id, number, model, text, reasoning, finish_reason, partial, usage_estimated, epoch,
          started_at)
      SELECT workspace_id, id, coalesce(${round}::int, 1 + greatest(0,
          (SELECT max(number) FROM round WHERE workspace_id = job.workspace_id AND job_id = job.id),
          (SELECT max((body->>'round')::int) FROM job_event
            WHERE workspace_id = job.workspace_id AND job_id = job.id AND type = 'round-started'))),
        CASE WHEN kind = 'workflow' THEN '' ELSE model END, ${text}, ${reasoning}, 'interrupted', true, true, lease_epoch,
        clock_timestamp()
      FROM job WHERE ${ofJob(job)} AND (${round}::int IS NOT NULL OR NOT EXISTS (
        SELECT 1 FROM round r WHERE r.workspace_id = job.workspace_id AND r.job_id = job.id AND r.node_run IS NULL))`;
  }
}
