import { Injectable } from '@nestjs/common';

import { Prisma, PrismaService } from '#platform';

import type { Interrupt } from '../interrupt.js';
import { InterruptsRepository } from '../interrupts/interrupts.repository.js';
import type { Job, JobRef } from '../job.js';
import type { JobStatus } from '../job.lifecycle.js';
import type { JobLabels } from '../job-labels.js';
import { type JobNotification, NotificationsRepository } from '../notifications/notifications.repository.js';

/** The columns of a job that actions read. Instants in ms since the epoch. */
export interface ActionJob {
  readonly kind: string;
  readonly status: JobStatus;
  readonly threadId: string | null;
  readonly principal: string;
  /** The agent that the job was started with. */
  readonly agent: string | null;
  readonly workflowId: string | null;
  readonly parentJobId: string | null;
  readonly model: string;
  readonly labels: JobLabels;
  readonly reason: string | null;
  readonly error: Job['error'];
  readonly rounds: number;
  readonly toolCalls: number;
  readonly promptTokens: number;
  readonly completionTokens: number;
  readonly createdAt: number;
  readonly startedAt: number | null;
  readonly finishedAt: number | null;
}

const ms = (column: string) => Prisma.raw(`(extract(epoch FROM ${column}) * 1000)::float8`);

/** Reads the rows that actions refer to. Does not check rights. */
@Injectable()
export class ActionRowsRepository {
  constructor(
    private readonly prisma: PrismaService,
    private readonly interrupts: InterruptsRepository,
    private readonly notifications: NotificationsRepository,
  ) {}

  /** Returns null if the job was deleted. */
  async job({ workspaceId, jobId }: JobRef): Promise<ActionJob | null> {
    const [job = null] = await this.prisma.queryInWorkspace<ActionJob>(
      { workspaceId },
      Prisma.sql`SELECT kind, status, thread_id AS "threadId", principal, input->'agent'->>'name' AS agent,
          workflow_id AS "workflowId", parent_job_id AS "parentJobId", model, labels, reason, error, rounds, tool_calls AS "toolCalls",
          prompt_tokens AS "promptTokens", completion_tokens AS "completionTokens", ${ms('created_at')} AS "createdAt",
          ${ms('started_at')} AS "startedAt", ${ms('finished_at')} AS "finishedAt"
        FROM job WHERE workspace_id = ${workspaceId}::uuid AND id = ${jobId}::uuid`,
    );
    return job;
  }

  /** Returns null if the request was deleted. */
  interrupt(workspaceId: string, id: string): Promise<Interrupt | null> {
    return this.prisma.withWorkspace({ workspaceId }, (tx) => this.interrupts.read(tx, workspaceId, id));
  }

  /**
   * The notification of a request of the job; with `interruptId` null, of the job's end. Returns null if there is none, for example because
   * the job had a viewer.
   */
  notification(job: JobRef, interruptId: string | null): Promise<JobNotification | null> {
    return this.notifications.findAbout(job, interruptId);
  }
}
