import { Injectable } from '@nestjs/common';

import { Prisma, PrismaService, type PrismaTransaction, type Storable } from '#platform';

import { type AddedWebhook, addedWebhooksSql, loggedColumns, webhooksSql } from '../events/event-webhooks.part.js';
import type { NewJobEvent } from '../events/job-event.js';
import type { JobStatus } from '../job.lifecycle.js';

/** The locked row of a job. */
export interface LockedRow {
  readonly kind: string;
  readonly status: JobStatus;
  readonly threadId: string | null;
  readonly createdBy: string | null;
  readonly principal: string;
  readonly epoch: number;
  readonly cancelRequested: boolean;
}

/** The changes that are written before the lock of the row is released. */
export interface JobUpdate {
  readonly events: readonly NewJobEvent[];
  readonly requeue: boolean;
  /** Whether the job's worker must read its rows again before it waits. */
  readonly concernsWorker: boolean;
}

/** Members of a job's input by name; undefined removes the member. */
export type InputMembers = Readonly<Record<string, Storable | undefined>>;

export interface UpdatedJob {
  readonly lastSeq: number;
  readonly status: JobStatus;
  readonly webhooks: readonly AddedWebhook[] | null;
}

/** Changes a job without its lease, as the API's database role inside the job's workspace. */
@Injectable()
export class JobUpdateRepository {
  constructor(private readonly prisma: PrismaService) {}

  inWorkspace<T>(workspaceId: string, work: (tx: PrismaTransaction) => Promise<T>): Promise<T> {
    return this.prisma.withWorkspace({ workspaceId }, work);
  }

  /** Returns null if the job does not exist. The lock lasts to the end of the transaction; read other rows only after this call. */
  async lock(tx: PrismaTransaction, workspaceId: string, jobId: string): Promise<LockedRow | null> {
    const [row] = await tx.$queryRaw<LockedRow[]>`
      SELECT kind, status, thread_id AS "threadId", created_by AS "createdBy", principal, lease_epoch AS epoch,
             cancel_requested_at IS NOT NULL AS "cancelRequested"
        FROM job WHERE workspace_id = ${workspaceId}::uuid AND id = ${jobId}::uuid FOR NO KEY UPDATE`;
    return row ?? null;
  }

  /**
   * Raises `answered` if `concernsWorker` is true. A worker that is about to wait then reads its rows again, because it may not have seen this
   * change.
   */
  async update(
    tx: PrismaTransaction,
    job: { readonly workspaceId: string; readonly jobId: string },
    { events, requeue, concernsWorker }: JobUpdate,
  ): Promise<UpdatedJob> {
    const count = events.length;
    const numbered = events.map(({ type, body }, i) => ({ ordinal: i + 1, type, body }));
    const [updated] = await tx.$queryRaw<UpdatedJob[]>`
      WITH up AS (
        UPDATE job SET last_seq = last_seq + ${count}::int, answered = answered + ${concernsWorker ? 1 : 0}::int,
               status = CASE WHEN ${requeue}::bool AND status = 'waiting' THEN 'queued' ELSE status END
         WHERE workspace_id = ${job.workspaceId}::uuid AND id = ${job.jobId}::uuid
        RETURNING workspace_id, id, status, last_seq, lease_epoch, restarts),
      logged AS (
        INSERT INTO job_event (workspace_id, job_id, seq, epoch, attempt, type, body, body_bytes, at)
        SELECT up.workspace_id, up.id, up.last_seq - ${count}::int + event.ordinal, up.lease_epoch, up.restarts, event.type,
               event.body, octet_length(event.body::text), clock_timestamp()
          FROM up, json_to_recordset(${JSON.stringify(numbered)}::json) AS event(ordinal int, type text, body jsonb)
        RETURNING ${Prisma.raw(loggedColumns)}),
      webhooks AS (${Prisma.raw(webhooksSql('logged'))})
      SELECT status, last_seq AS "lastSeq", ${Prisma.raw(addedWebhooksSql('webhooks'))} AS webhooks FROM up`;
    if (updated === undefined) throw new Error(`job ${job.jobId} vanished under its lock`);
    return updated;
  }

  /** Sets members of the job's input and removes members that are undefined. Does not write the input, which may be long, if no member changes. */
  async changeInput(
    tx: PrismaTransaction,
    job: { readonly workspaceId: string; readonly jobId: string },
    members: InputMembers,
  ): Promise<void> {
    const removed = Object.keys(members).filter((name) => members[name] === undefined);
    await tx.$executeRaw`
      WITH change AS (SELECT ${JSON.stringify(members)}::jsonb AS members, ${removed}::text[] AS removed)
      UPDATE job SET input = (job.input || change.members) - change.removed, file_hashes = NULL FROM change
       WHERE workspace_id = ${job.workspaceId}::uuid AND id = ${job.jobId}::uuid
         AND job.input <> (job.input || change.members) - change.removed`;
  }
}
