import { Injectable } from '@nestjs/common';

import { Postgres, type SqlClient, type Storable } from '#platform';

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

/** What is written to the row before its lock is released. */
export interface Amendment {
  readonly events: readonly NewJobEvent[];
  readonly requeue: boolean;
  /** Whether the job's worker must read its rows again before it waits. */
  readonly answers: boolean;
}

/** Members of a job's input by name; undefined removes the member. */
export type InputMembers = Readonly<Record<string, Storable | undefined>>;

export interface Amended {
  readonly lastSeq: number;
  readonly status: JobStatus;
}

const lockSql = `SELECT kind, status, thread_id AS "threadId", created_by AS "createdBy", principal, lease_epoch AS epoch,
       cancel_requested_at IS NOT NULL AS "cancelRequested"
  FROM job WHERE workspace_id = $1 AND id = $2 FOR NO KEY UPDATE`;

/** $6 raises `answered`. A worker that is about to wait then reads its rows again, because it may not have seen this change. */
const amendSql = `WITH up AS (
  UPDATE job SET last_seq = last_seq + $3::int, answered = answered + $6::int,
         status = CASE WHEN $4::bool AND status = 'waiting' THEN 'queued' ELSE status END
   WHERE workspace_id = $1 AND id = $2 RETURNING workspace_id, id, status, last_seq, lease_epoch, restarts),
logged AS (
  INSERT INTO job_event (workspace_id, job_id, seq, epoch, attempt, type, body, at)
  SELECT up.workspace_id, up.id, up.last_seq - $3::int + e.o, up.lease_epoch, up.restarts, e.t, e.b, clock_timestamp()
    FROM up, json_to_recordset($5::json) AS e(o int, t text, b jsonb))
SELECT status, last_seq AS "lastSeq" FROM up`;

/** Does not write the input, which may be long, if no member changes. */
const changeInputSql = `UPDATE job SET input = (input || $3::jsonb) - $4::text[]
 WHERE workspace_id = $1 AND id = $2 AND input <> (input || $3::jsonb) - $4::text[]`;

/** Changes a job without its lease, as the API's database role inside the job's workspace. */
@Injectable()
export class AmendRepository {
  constructor(private readonly postgres: Postgres) {}

  inWorkspace<T>(workspaceId: string, work: (client: SqlClient) => Promise<T>): Promise<T> {
    return this.postgres.withWorkspaceSql(workspaceId, work);
  }

  /** Null: no such job. The lock lasts to the end of the transaction; read other rows only after this call. */
  async lock(client: SqlClient, workspaceId: string, jobId: string): Promise<LockedRow | null> {
    const { rows } = await client.query<LockedRow>(lockSql, [workspaceId, jobId]);
    return rows[0] ?? null;
  }

  async amend(
    client: SqlClient,
    job: { readonly workspaceId: string; readonly jobId: string },
    { events, requeue, answers }: Amendment,
  ): Promise<Amended> {
    const numbered = events.map(({ type, body }, i) => ({ o: i + 1, t: type, b: body }));
    const values = [job.workspaceId, job.jobId, events.length, requeue, JSON.stringify(numbered), answers ? 1 : 0];
    const { rows } = await client.query<Amended>(amendSql, values);
    const [amended] = rows;
    if (amended === undefined) throw new Error(`job ${job.jobId} vanished under its lock`);
    return amended;
  }

  /** Sets members of the job's input and removes members that are undefined. */
  async changeInput(
    client: SqlClient,
    job: { readonly workspaceId: string; readonly jobId: string },
    members: InputMembers,
  ): Promise<void> {
    const removed = Object.keys(members).filter((name) => members[name] === undefined);
    await client.query(changeInputSql, [job.workspaceId, job.jobId, JSON.stringify(members), removed]);
  }
}
