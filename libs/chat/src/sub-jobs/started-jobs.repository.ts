import { Injectable } from '@nestjs/common';

import type { JobKind, JobStatus } from '#jobs';
import { isId, Prisma, PrismaService } from '#platform';

import type { ChosenAgent } from '../input/agent.js';

/** A job whose call starts another job, with the values that the new job inherits. */
export interface CallingJob {
  readonly kind: JobKind;
  readonly threadId: string | null;
  readonly createdBy: string | null;
  readonly model: string;
  readonly depth: number;
  readonly input: unknown;
  /** The provider key of the job, encrypted for its row. */
  readonly keyCipher: Uint8Array | null;
  /** The agent of the job; null if it has none. */
  readonly agent: ChosenAgent | null;
  /** The id of the call's row. */
  readonly toolCallId: string;
}

/** Identifies a call of a job by its idempotency key, which is the same in every attempt. */
export interface CallOfJob {
  readonly workspaceId: string;
  readonly jobId: string;
  readonly idempotencyKey: string;
}

/** A started job, in the form that models read. */
export interface StartedSubJob {
  readonly job_id: string;
  readonly thread_id: string | null;
  readonly status: JobStatus;
  readonly depth: number;
  readonly tools: readonly string[];
  readonly parent_job_id: string;
}

/** A started job with its result. */
export interface EndOfSubJob extends StartedSubJob {
  /** The content of the job; null until it is completed. */
  readonly result: string | null;
  readonly error: string | null;
}

const maxListed = 50;

const handle = Prisma.sql`s.id AS job_id, s.thread_id, s.status, s.depth, s.parent_job_id, s.input->'tools' AS tools`;

/** Selects sub-jobs of a job, and of other jobs of its thread by the same user, because a later turn may ask for them. */
const startedBy = (
  workspaceId: string,
  jobId: string,
) => Prisma.sql`FROM job me JOIN job p ON p.workspace_id = me.workspace_id
    AND (p.id = me.id OR (p.thread_id = me.thread_id AND p.created_by = me.created_by))
  JOIN job s ON s.workspace_id = p.workspace_id AND s.parent_job_id = p.id AND s.kind = 'chat'
 WHERE me.workspace_id = ${workspaceId}::uuid AND me.id = ${jobId}::uuid`;

/** The sub-jobs of chats, for the jobs that started them. */
@Injectable()
export class StartedJobsRepository {
  constructor(private readonly prisma: PrismaService) {}

  /** Returns null if the call does not exist. If the job chose its agent, its round 0 contains the choice. */
  async calling({ workspaceId, jobId, idempotencyKey }: CallOfJob): Promise<CallingJob | null> {
    const [row] = await this.prisma.queryInWorkspace<CallingJob>(
      { workspaceId },
      Prisma.sql`SELECT j.kind, j.thread_id AS "threadId", j.created_by AS "createdBy", j.model, j.depth, j.input,
       j.key_cipher AS "keyCipher", c.id AS "toolCallId",
       coalesce(nullif(j.input->'agent', 'null'), CASE WHEN j.input ? 'routing' THEN (SELECT r.captured::jsonb FROM round r
         WHERE r.workspace_id = j.workspace_id AND r.job_id = j.id AND r.number = 0) END) AS agent
  FROM job j JOIN tool_call c ON c.workspace_id = j.workspace_id AND c.job_id = j.id
 WHERE j.workspace_id = ${workspaceId}::uuid AND j.id = ${jobId}::uuid AND c.idem_key = ${idempotencyKey}`,
    );
    return row ?? null;
  }

  /** The sub-jobs that the job may read, newest first. */
  list(workspaceId: string, jobId: string): Promise<readonly StartedSubJob[]> {
    return this.prisma.queryInWorkspace<StartedSubJob>(
      { workspaceId },
      Prisma.sql`SELECT ${handle} ${startedBy(workspaceId, jobId)} ORDER BY s.id DESC LIMIT ${maxListed}`,
    );
  }

  /** Returns null if the job may read no such sub-job. */
  async find(workspaceId: string, jobId: string, startedId: string): Promise<StartedSubJob | null> {
    const [row] = await this.prisma.queryInWorkspace<StartedSubJob>(
      { workspaceId },
      Prisma.sql`SELECT ${handle} ${startedBy(workspaceId, jobId)} AND s.id = ${startedId}::uuid`,
    );
    return row ?? null;
  }

  /** Like `find`, with the result. */
  async findEnd(workspaceId: string, jobId: string, startedId: string): Promise<EndOfSubJob | null> {
    if (!isId(startedId)) return null;
    const [row] = await this.prisma.queryInWorkspace<EndOfSubJob>(
      { workspaceId },
      Prisma.sql`SELECT ${handle}, s.error->>'message' AS error,
       CASE WHEN s.status = 'completed' THEN (SELECT coalesce(string_agg(r.text, '' ORDER BY r.number), '') FROM round r
         WHERE r.workspace_id = s.workspace_id AND r.job_id = s.id AND r.node_run IS NULL) END AS result
  ${startedBy(workspaceId, jobId)} AND s.id = ${startedId}::uuid`,
    );
    return row ?? null;
  }
}
