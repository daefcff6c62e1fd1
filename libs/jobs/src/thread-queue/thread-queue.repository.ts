import { Injectable } from '@nestjs/common';

import { PrismaService } from '#platform';

import { partChecks, partClauses, partParameters, partsOf } from '../events/commit-part.js';
import type { JobRef } from '../job.js';
import { JobQueue } from '../queue/job-queue.js';
import { TurnMessages } from './turn-messages.js';

interface FirstInQueue {
  readonly id: string;
  readonly kind: string;
  readonly messageId: string;
  readonly messageClientId: string | null;
  readonly createdBy: string | null;
  readonly input: unknown;
  readonly nextPosition: number;
}

/** Starts the next job of a thread's queue, under the lock of the thread's row. */
@Injectable()
export class ThreadQueueRepository {
  constructor(
    private readonly prisma: PrismaService,
    private readonly turns: TurnMessages,
    private readonly queue: JobQueue,
  ) {}

  /** Threads of any workspace with queued jobs and no active one. */
  findStuck(limit: number, without: readonly string[]): Promise<{ workspaceId: string; threadId: string }[]> {
    return this.prisma.asWorker(
      (client) => client.$queryRaw<{ workspaceId: string; threadId: string }[]>`
        SELECT DISTINCT l.workspace_id AS "workspaceId", l.thread_id AS "threadId" FROM job l
         WHERE l.status = 'queued' AND l.in_line AND l.thread_id IS NOT NULL AND l.thread_id <> ALL(${[...without]}::uuid[]) AND (l.start_at IS NULL OR l.start_at <= clock_timestamp())
           AND NOT EXISTS (SELECT 1 FROM job a WHERE a.workspace_id = l.workspace_id AND a.thread_id = l.thread_id
                              AND NOT a.in_line AND a.status IN ('queued', 'running', 'waiting'))
         LIMIT ${limit}`,
    );
  }

  /** Delayed jobs of any workspace whose instant has come and that have no earlier job in their thread, the oldest first. */
  findDue(limit: number, without: readonly string[]): Promise<JobRef[]> {
    return this.prisma.asWorker(
      (client) => client.$queryRaw<JobRef[]>`
        SELECT j.workspace_id AS "workspaceId", j.id AS "jobId" FROM job j
         WHERE j.status = 'queued' AND j.in_line AND j.start_at <= clock_timestamp() AND j.id <> ALL(${[...without]}::uuid[])
           AND NOT EXISTS (SELECT 1 FROM job a WHERE a.workspace_id = j.workspace_id AND a.thread_id = j.thread_id
                              AND NOT a.in_line AND a.status IN ('queued', 'running', 'waiting'))
         ORDER BY j.start_at LIMIT ${limit}`,
    );
  }

  /**
   * Lets a delayed job begin, and returns its thread. A job without a thread is runnable now, and its queue message is sent. Returns null if
   * the job has ended or begun, or its instant has not come.
   */
  promoteDue(workspaceId: string, jobId: string): Promise<{ threadId: string | null; kind: string } | null> {
    return this.prisma.withWorkspace({ workspaceId }, async (tx) => {
      const [due] = await tx.$queryRaw<{ threadId: string | null; kind: string }[]>`
        UPDATE job SET in_line = thread_id IS NOT NULL
         WHERE workspace_id = ${workspaceId}::uuid AND id = ${jobId}::uuid AND status = 'queued' AND in_line
           AND start_at <= clock_timestamp() RETURNING thread_id AS "threadId", kind`;
      if (due?.threadId === null) await this.queue.send(tx, { workspaceId, jobId, kind: due.kind });
      return due ?? null;
    });
  }

  /**
   * Lets the first queued job of the thread begin, sends its queue message and returns it. Returns null if the thread is busy, or its queue
   * is empty.
   */
  promoteFirst(workspaceId: string, threadId: string): Promise<{ jobId: string; kind: string } | null> {
    return this.prisma.withWorkspace({ workspaceId }, async (tx) => {
      // The lock comes first, and a later statement reads: its snapshot must not be older than the lock.
      await tx.$queryRaw`
        SELECT 1 FROM thread WHERE workspace_id = ${workspaceId}::uuid AND id = ${threadId}::uuid FOR NO KEY UPDATE`;
      const [first] = await tx.$queryRaw<FirstInQueue[]>`
        SELECT j.id, j.kind, j.message_id AS "messageId", j.message_client_id AS "messageClientId",
               j.created_by AS "createdBy", j.input, t.next_position AS "nextPosition"
          FROM job j JOIN thread t ON t.workspace_id = j.workspace_id AND t.id = j.thread_id
         WHERE j.workspace_id = ${workspaceId}::uuid AND j.thread_id = ${threadId}::uuid AND j.status = 'queued' AND j.in_line
           AND (j.start_at IS NULL OR j.start_at <= clock_timestamp())
           AND NOT EXISTS (SELECT 1 FROM job a WHERE a.workspace_id = j.workspace_id AND a.thread_id = j.thread_id
                              AND NOT a.in_line AND a.status IN ('queued', 'running', 'waiting'))
         ORDER BY j.queue_order NULLS FIRST, coalesce(j.start_at, j.created_at), j.id LIMIT 1 FOR NO KEY UPDATE OF j`;
      if (first === undefined) return null;
      const { id: jobId, kind, nextPosition: position, ...turn } = first;
      const messages = this.turns.rows(kind, { ...turn, workspaceId, jobId, threadId, position });
      const parts = partsOf(messages);
      await tx.$executeRawUnsafe(
        `WITH up AS (UPDATE job SET in_line = false WHERE workspace_id = $1::uuid AND id = $2::uuid AND status = 'queued' AND in_line
                     RETURNING workspace_id, id, lease_epoch),
         moved AS (UPDATE thread SET next_position = next_position + $4::int, updated_at = clock_timestamp()
                    WHERE workspace_id = $1::uuid AND id = $3::uuid)${partClauses(parts, 5)}
         SELECT 1${partChecks(parts)} FROM up`,
        ...[workspaceId, jobId, threadId, messages.length, ...partParameters(parts, messages)],
      );
      await this.queue.send(tx, { workspaceId, jobId, kind });
      return { jobId, kind };
    });
  }
}
