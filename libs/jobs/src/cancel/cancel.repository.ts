import { Injectable } from '@nestjs/common';

import { Prisma, PrismaService, type PrismaTransaction } from '#platform';

import { EventActions } from '../events/event-actions.repository.js';
import {
  type AddedWebhook,
  addedWebhooksSql,
  loggedColumns,
  webhookMessages,
  webhooksSql,
} from '../events/event-webhooks.part.js';
import type { NewJobEvent } from '../events/job-event.js';
import { type JobEnd, jobFinished } from '../events/job-finished.js';
import type { JobKind, JobRef } from '../job.js';
import { isTerminal, type JobStatus } from '../job.lifecycle.js';
import { externalEnd, JobQueue, subJobsDue } from '../queue/job-queue.js';
import { type ShownTexts, shownTexts } from '../text/shown-texts.js';
import { showsOf } from '../text/shown-texts.repository.js';
import { mayHaveRun, stoppedCall, unknownOutcome } from '../unknown-outcome.js';

/** The arguments that a call runs with, as JSON text. */
const runArguments = Prisma.sql`coalesce(executed_arguments, approved_arguments, arguments)`;

/**
 * Whether a person changed the arguments of a call. An approval normalizes their notation, which does not count as a change. Text that
 * `jsonb` rejects (a NUL, half a surrogate pair, truncated JSON) is compared as text.
 */
const isEdited = Prisma.sql`CASE WHEN ${runArguments} = arguments THEN false
    WHEN pg_input_is_valid(${runArguments}, 'jsonb') AND pg_input_is_valid(arguments, 'jsonb') THEN ${runArguments}::jsonb <> arguments::jsonb
    ELSE true END`;

const addedWebhooks = Prisma.raw(addedWebhooksSql('webhooks'));

/** Closes the open calls, requests and node runs of a locked job and logs how each ended; its sub-jobs are cancelled later. The caller appends `job-finished` after it. */
const closing = ({ workspaceId, jobId }: JobRef) => Prisma.sql`
WITH closed_call AS (
  UPDATE tool_call t SET status = CASE WHEN ${mayHaveRun} THEN 'interrupted' ELSE 'cancelled' END,
         error = CASE WHEN ${mayHaveRun} THEN ${JSON.stringify(unknownOutcome)}::jsonb ELSE ${JSON.stringify(stoppedCall)}::jsonb END,
         finished_at = clock_timestamp()
   WHERE t.workspace_id = ${workspaceId}::uuid AND t.job_id = ${jobId}::uuid
     AND t.status IN ('pending', 'awaiting_approval', 'awaiting_client', 'running')
  RETURNING round, ordinal, jsonb_build_object('round', round, 'internalStatus', status, 'call', jsonb_build_object(
    'id', call_id, 'name', name, 'status', CASE status WHEN 'interrupted' THEN 'error' ELSE 'skipped' END,
    'args', ${runArguments}, 'error', error->>'message')
      || CASE WHEN ${isEdited} THEN jsonb_build_object('proposedArgs', arguments) ELSE '{}' END) AS body),
closed_interrupt AS (
  UPDATE interrupt SET status = 'cancelled', outcome = '{"outcome":"cancelled"}', decided_at = clock_timestamp(),
         remind_at = NULL, claim_until = NULL
   WHERE workspace_id = ${workspaceId}::uuid AND job_id = ${jobId}::uuid AND status = 'open'
  RETURNING id, jsonb_build_object('interruptId', id, 'outcome', 'cancelled',
    'decidedAt', round(extract(epoch FROM decided_at) * 1000)) AS body),
closed_node AS (
  UPDATE node_run n SET status = 'cancelled', handles = '{}', finished_at = clock_timestamp(),
         (prompt_tokens, completion_tokens) = (SELECT coalesce(sum(r.prompt_tokens), 0), coalesce(sum(r.completion_tokens), 0)
            FROM round r WHERE r.workspace_id = n.workspace_id AND r.job_id = n.job_id AND r.node_run = n.ordinal)
   WHERE n.workspace_id = ${workspaceId}::uuid AND n.job_id = ${jobId}::uuid AND n.status IN ('pending', 'active', 'waiting')
  RETURNING ordinal, jsonb_strip_nulls(jsonb_build_object('nodeRunId', job_id || ':' || ordinal, 'nodeId', node_id,
    'label', label, 'type', type, 'path', coalesce(path, '{}'), 'iteration', iteration[cardinality(iteration)], 'status', status,
    'output', '', 'tokenCount', nullif(prompt_tokens + completion_tokens, 0))) AS body),
event AS (
  SELECT row_number() OVER (ORDER BY round, ordinal) AS ordinal, 'tool-call-updated' AS type, body FROM closed_call
  UNION ALL
  SELECT (SELECT count(*) FROM closed_call) + row_number() OVER (ORDER BY id), 'interrupt-resolved', body FROM closed_interrupt
  UNION ALL
  SELECT (SELECT count(*) FROM closed_call) + (SELECT count(*) FROM closed_interrupt) + row_number() OVER (ORDER BY ordinal DESC),
         'node-finished', body FROM closed_node),
up AS (
  UPDATE job SET last_seq = last_seq + (SELECT count(*)::int FROM event)
   WHERE workspace_id = ${workspaceId}::uuid AND id = ${jobId}::uuid RETURNING workspace_id, id, last_seq, lease_epoch, restarts),
logged AS (
  INSERT INTO job_event (workspace_id, job_id, seq, epoch, attempt, type, body, body_bytes, at)
  SELECT up.workspace_id, up.id, up.last_seq - (SELECT count(*) FROM event) + event.ordinal, up.lease_epoch, up.restarts,
         event.type, event.body, octet_length(event.body::text), clock_timestamp()
    FROM up, event RETURNING ${Prisma.raw(loggedColumns)}),
webhooks AS (${Prisma.raw(webhooksSql('logged'))})
SELECT last_seq AS "lastSeq", ${addedWebhooks} AS webhooks, EXISTS (SELECT FROM job s WHERE s.workspace_id = up.workspace_id
  AND s.parent_job_id = up.id AND s.status IN ('queued', 'running', 'waiting')) AS "hasSubJobs" FROM up`;

/** The result of a cancel. */
export interface CancelResult {
  /** `ended`: the job is cancelled now. `requested`: its worker, or the next worker, will end it. `terminal`: it had ended before. */
  readonly state: 'ended' | 'requested' | 'terminal';
  readonly status: JobStatus;
  readonly kind: JobKind;
  readonly rounds: number;
  readonly threadId: string | null;
  /** For a sub-job: the parent that waits for it. */
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
  /** The conversation of the job is in another system. */
  readonly isExternal: boolean;
}

interface ClosedJob {
  readonly lastSeq: number;
  readonly hasSubJobs: boolean;
  readonly webhooks: readonly AddedWebhook[] | null;
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
const openDescendantsOf = ({ workspaceId, jobId }: JobRef) => Prisma.sql`
  WITH RECURSIVE descendant AS (
    SELECT id, status, depth FROM job WHERE workspace_id = ${workspaceId}::uuid AND parent_job_id = ${jobId}::uuid
    UNION
    SELECT j.id, j.status, j.depth FROM descendant d JOIN job j ON j.workspace_id = ${workspaceId}::uuid AND j.parent_job_id = d.id)
  SELECT id FROM descendant WHERE status IN ('queued', 'running', 'waiting') ORDER BY depth, id`;

/** Ends or cancels jobs without their lease. Runs inside `withWorkspace`, which hides the jobs of other workspaces. */
@Injectable()
export class CancelRepository {
  constructor(
    private readonly prisma: PrismaService,
    private readonly queue: JobQueue,
    private readonly actions: EventActions,
  ) {}

  inWorkspace<T>(workspaceId: string, work: (tx: PrismaTransaction) => Promise<T>): Promise<T> {
    return this.prisma.withWorkspace({ workspaceId }, work);
  }

  /** Locks the job's row, then branches on its status. Returns null if the job does not exist. */
  async cancel(tx: PrismaTransaction, order: CancelInput): Promise<CancelResult | null> {
    const job = await this.lock(tx, order);
    if (job === null) return null;
    const { status, kind, rounds, threadId, parentJobId } = job;
    const of = { kind, rounds, threadId, parentJobId };
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
  async openDescendants(job: JobRef): Promise<string[]> {
    const rows = await this.prisma.queryInWorkspace<{ id: string }>(job, openDescendantsOf(job));
    return rows.map(({ id }) => id);
  }

  /**
   * Ends a re-queued job whose cancel is requested: its worker released it before it learned of the cancel. Returns null if no cancel of a
   * queued job is requested.
   */
  async endIfRequested(tx: PrismaTransaction, ref: JobRef): Promise<CancelResult | null> {
    const job = await this.lock(tx, ref);
    if (job?.status !== 'queued' || !job.cancelRequested) return null;
    const seq = await this.end(tx, job, { status: 'cancelled', reason: job.reason ?? 'cancelled' });
    const { kind, rounds, threadId, parentJobId } = job;
    return { state: 'ended', status: 'cancelled', kind, rounds, threadId, parentJobId, seq };
  }

  /**
   * Closes the open calls and requests of a job whose handler must not run again, and keeps the text it has shown. The holder of the lease
   * commits the end next. Returns the length of the content in UTF-16 units, or null if another worker has the lease. May be called again.
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
             input->'external' IS NOT NULL AS "isExternal",
             (extract(epoch FROM clock_timestamp() - created_at) * 1000)::float8 AS "durationMs"
        FROM job WHERE ${ofJob(ref)} FOR NO KEY UPDATE`;
    return job ?? null;
  }

  /** Returns the number of the job's newest event. */
  private async close(tx: PrismaTransaction, job: LockedJob): Promise<number> {
    const [closed] = await tx.$queryRaw<ClosedJob[]>(closing(job));
    if (closed === undefined) throw new Error(`job ${job.jobId} vanished under its lock`);
    const messages = webhookMessages(job.workspaceId, closed.webhooks);
    if (closed.hasSubJobs) messages.push(subJobsDue(job));
    if (job.isExternal) messages.push(externalEnd(job));
    await this.queue.sendAll(tx, messages);
    return closed.lastSeq;
  }

  /** Ends a job that no worker runs. The new epoch rejects the writes of a worker whose lease is outdated. Returns the number of its last event. */
  private async end(tx: PrismaTransaction, job: LockedJob, end: JobEnd): Promise<number> {
    const contentLength = await this.keepShown(tx, job);
    const event: NewJobEvent = jobFinished(end, { ...job, contentLength });
    const error = end.error === undefined ? null : JSON.stringify(end.error);
    const lastSeq = await this.close(tx, job);
    const [ended] = await tx.$queryRaw<{ webhooks: AddedWebhook[] | null }[]>`
      WITH ended AS (
        UPDATE job SET status = ${end.status}, reason = ${end.reason}, error = ${error}::jsonb, lease_epoch = lease_epoch + 1,
               last_seq = last_seq + 1, content_length = ${contentLength}::int, lease_owner = NULL, lease_until = NULL,
               key_cipher = NULL, finished_at = clock_timestamp(),
               cancel_requested_at = coalesce(cancel_requested_at, CASE WHEN ${end.status} = 'cancelled' THEN clock_timestamp() END)
         WHERE ${ofJob(job)} AND status IN ('queued', 'waiting') RETURNING workspace_id, id, last_seq, lease_epoch, restarts),
      logged AS (
        INSERT INTO job_event (workspace_id, job_id, seq, epoch, attempt, type, body, at)
        SELECT workspace_id, id, last_seq, lease_epoch, restarts, 'job-finished', ${JSON.stringify(event.body)}::jsonb,
               clock_timestamp() FROM ended RETURNING ${Prisma.raw(loggedColumns)}),
      webhooks AS (${Prisma.raw(webhooksSql('logged'))})
      SELECT ${addedWebhooks} AS webhooks`;
    const { workspaceId, parentJobId } = job;
    const messages = [
      ...webhookMessages(workspaceId, ended?.webhooks ?? null),
      ...this.actions.messagesOf(job, [event]),
    ];
    if (parentJobId !== null) messages.push(subJobsDue({ workspaceId, jobId: parentJobId }));
    await this.queue.sendAll(tx, messages);
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
    const shown = shownTexts(await tx.$queryRaw<NewJobEvent[]>(showsOf(job))); // `showsOf` selects only types of NewJobEvent
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
