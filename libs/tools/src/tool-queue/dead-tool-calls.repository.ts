import { Injectable } from '@nestjs/common';

import { type PageRequest, Postgres, QUEUE_SCHEMA, TOOL_QUEUES } from '#platform';

import type { DeadLetter } from './dead-letter.js';

/** A letter as it lies among the dead. */
export interface StoredLetter {
  readonly id: string;
  readonly letter: DeadLetter;
}

/** The ledger's record of the call that a dead letter is about. */
export interface LetterCall {
  readonly id: string;
  readonly jobId: string;
  readonly callId: string;
  readonly name: string;
  readonly status: string;
  /** Nothing but another request is missing for it to run. */
  readonly canRedrive: boolean;
}

const callsSql = `SELECT id, job_id AS "jobId", call_id AS "callId", name, status,
    status = 'running' AND executor = 'queue' AND cancel_requested_at IS NULL
      AND (exec_until IS NULL OR (effect IN ('pure', 'idempotent') AND exec_until < clock_timestamp())) AS "canRedrive"
  FROM tool_call WHERE workspace_id = $1 AND id = ANY($2::uuid[])`;

/**
 * Dead letters for people. What is in a queue no policy of the database guards, so the letters say only which calls they are
 * about; the calls themselves are read as their workspace.
 */
@Injectable()
export class DeadToolCallsRepository {
  constructor(private readonly postgres: Postgres) {}

  /** Newest first; one more than `first` may come back. */
  async list(workspaceId: string, { first, after }: PageRequest): Promise<StoredLetter[]> {
    const { rows } = await this.postgres.engine.query<StoredLetter>(
      `SELECT id, data AS letter FROM ${QUEUE_SCHEMA}.job WHERE name = $1 AND state < 'active' AND singleton_key = $2
          AND ($3::uuid IS NULL OR id < $3) ORDER BY id DESC LIMIT $4`,
      [TOOL_QUEUES.dead, workspaceId, after ?? null, first + 1],
    );
    return rows;
  }

  async find(workspaceId: string, id: string): Promise<StoredLetter | null> {
    const { rows } = await this.postgres.engine.query<StoredLetter>(
      `SELECT id, data AS letter FROM ${QUEUE_SCHEMA}.job WHERE name = $1 AND id = $2 AND singleton_key = $3`,
      [TOOL_QUEUES.dead, id, workspaceId],
    );
    return rows[0] ?? null;
  }

  async remove(workspaceId: string, id: string): Promise<void> {
    await this.postgres.engine.query(
      `DELETE FROM ${QUEUE_SCHEMA}.job WHERE name = $1 AND id = $2 AND singleton_key = $3`,
      [TOOL_QUEUES.dead, id, workspaceId],
    );
  }

  /** The calls of the workspace among these, by their ids. */
  async calls(workspaceId: string, ids: readonly string[]): Promise<ReadonlyMap<string, LetterCall>> {
    const rows = await this.postgres.readInWorkspace<LetterCall>(workspaceId, {
      name: 'letter-calls',
      text: callsSql,
      values: [workspaceId, ids],
    });
    return new Map(rows.map((call) => [call.id, call]));
  }

  /** Whose job a call belongs to, as its workspace; null: no such call. */
  async jobOf(workspaceId: string, id: string): Promise<{ jobId: string; createdBy: string | null } | null> {
    const [row] = await this.postgres.readInWorkspace<{ jobId: string; createdBy: string | null }>(workspaceId, {
      name: 'job-of-call',
      text: `SELECT job_id AS "jobId", created_by AS "createdBy" FROM tool_call WHERE workspace_id = $1 AND id = $2`,
      values: [workspaceId, id],
    });
    return row ?? null;
  }
}
