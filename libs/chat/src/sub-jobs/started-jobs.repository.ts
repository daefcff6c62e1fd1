import { Injectable } from '@nestjs/common';

import type { JobKind, JobStatus } from '#jobs';
import { isId, Postgres } from '#platform';

import type { ChosenAgent } from '../agent.js';

/** A job that calls for another one, as far as that takes anything over from it. */
export interface CallingJob {
  readonly kind: JobKind;
  readonly threadId: string | null;
  readonly createdBy: string | null;
  readonly model: string;
  readonly depth: number;
  readonly input: unknown;
  /** A provider key given for that job, sealed for its row. */
  readonly keyCipher: Uint8Array | null;
  /** Who answers in it; null: nobody in particular. */
  readonly agent: ChosenAgent | null;
  /** The ledger row of the call. */
  readonly toolCallId: string;
}

/** A call of a job, by the key that it has on every attempt. */
export interface CallOfJob {
  readonly workspaceId: string;
  readonly jobId: string;
  readonly idempotencyKey: string;
}

/** A job that a call has started, as a model is shown it. */
export interface StartedBelow {
  readonly job_id: string;
  readonly thread_id: string | null;
  readonly status: JobStatus;
  readonly depth: number;
  readonly tools: readonly string[];
  readonly parent_job_id: string;
}

/** The same with what came of it. */
export interface EndOfStarted extends StartedBelow {
  /** What it has said; null until it is completed. */
  readonly result: string | null;
  readonly error: string | null;
}

const mostListed = 50;

/** A job that was to choose its agent says in its round 0 which one it is. */
const callingSql = `SELECT j.kind, j.thread_id AS "threadId", j.created_by AS "createdBy", j.model, j.depth, j.input,
       j.key_cipher AS "keyCipher", c.id AS "toolCallId",
       coalesce(nullif(j.input->'agent', 'null'), CASE WHEN j.input ? 'routing' THEN (SELECT r.captured::jsonb FROM round r
         WHERE r.workspace_id = j.workspace_id AND r.job_id = j.id AND r.number = 0) END) AS agent
  FROM job j JOIN tool_call c ON c.workspace_id = j.workspace_id AND c.job_id = j.id
 WHERE j.workspace_id = $1 AND j.id = $2 AND c.idem_key = $3`;

const handle = `s.id AS job_id, s.thread_id, s.status, s.depth, s.parent_job_id, s.input->'tools' AS tools`;

/** Chats below a job, or below others of its thread that the same person has started: a later turn may look after them. */
const below = `FROM job me JOIN job p ON p.workspace_id = me.workspace_id
    AND (p.id = me.id OR (p.thread_id = me.thread_id AND p.created_by = me.created_by))
  JOIN job s ON s.workspace_id = p.workspace_id AND s.parent_job_id = p.id AND s.kind = 'chat'
 WHERE me.workspace_id = $1 AND me.id = $2`;

const foundSql = `SELECT ${handle} ${below} AND s.id = $3`;
const endSql = `SELECT ${handle}, s.error->>'message' AS error,
       CASE WHEN s.status = 'completed' THEN (SELECT coalesce(string_agg(r.text, '' ORDER BY r.number), '') FROM round r
         WHERE r.workspace_id = s.workspace_id AND r.job_id = s.id AND r.node_run IS NULL) END AS result
  ${below} AND s.id = $3`;

/** Jobs that calls of chats have started, for those jobs. */
@Injectable()
export class StartedJobsRepository {
  constructor(private readonly postgres: Postgres) {}

  /** Null: there is no such call. */
  async calling({ workspaceId, jobId, idempotencyKey }: CallOfJob): Promise<CallingJob | null> {
    const statement = { name: 'calling-chat', text: callingSql, values: [workspaceId, jobId, idempotencyKey] };
    const [row] = await this.postgres.readInWorkspace<CallingJob>(workspaceId, statement);
    return row ?? null;
  }

  /** What the job may ask about, newest first. */
  list(workspaceId: string, jobId: string): Promise<readonly StartedBelow[]> {
    return this.postgres.readInWorkspace<StartedBelow>(workspaceId, {
      name: 'started-jobs',
      text: `SELECT ${handle} ${below} ORDER BY s.id DESC LIMIT ${mostListed}`,
      values: [workspaceId, jobId],
    });
  }

  /** Null: none that the job may ask about. */
  async find(workspaceId: string, jobId: string, startedId: string): Promise<StartedBelow | null> {
    const statement = { name: 'started-job', text: foundSql, values: [workspaceId, jobId, startedId] };
    const [row] = await this.postgres.readInWorkspace<StartedBelow>(workspaceId, statement);
    return row ?? null;
  }

  /** The same with what came of it. */
  async findEnd(workspaceId: string, jobId: string, startedId: string): Promise<EndOfStarted | null> {
    if (!isId(startedId)) return null;
    const statement = { name: 'end-of-started-job', text: endSql, values: [workspaceId, jobId, startedId] };
    const [row] = await this.postgres.readInWorkspace<EndOfStarted>(workspaceId, statement);
    return row ?? null;
  }
}
