import { Injectable } from '@nestjs/common';

import { type HeldJob, idempotencyKeyMismatch } from '#jobs';
import type { ChatMessage } from '#models';
import { newId } from '#platform';

import { toContent } from '../threads/turn-message-part.repository.js';
import type { Answer, NewAnswer } from './answer.js';
import { insertAnswerSql, toBody } from './answer-part.repository.js';

const lockThreadSql = 'SELECT 1 FROM thread WHERE workspace_id = $1 AND id = $2 FOR NO KEY UPDATE';

/** A start locks a thread only for one statement. Shorter than Postgres' deadlock timeout. */
const threadWaitMs = 250;

/** Writes answers of continued jobs, in the transaction that has locked the job. */
@Injectable()
export class AnswerWritesRepository {
  /** Serializes the requests of one session. */
  async lockSession({ client, workspaceId }: HeldJob, { principal, sessionId }: Answer): Promise<void> {
    if (sessionId === null) return;
    await client.query(
      `SELECT 1 FROM openai_session WHERE workspace_id = $1 AND principal = $2 AND session_id = $3 FOR UPDATE`,
      [workspaceId, principal, sessionId],
    );
  }

  /** Stores the answer and its key. Throws `idempotency_key_mismatch` for a key that is used for something else. */
  async insert({ client, workspaceId, jobId }: HeldJob, answer: NewAnswer): Promise<void> {
    const { principal, idempotency } = answer;
    if (idempotency !== null) {
      const { rowCount } = await client.query(
        `INSERT INTO admission (workspace_id, principal, key, request_hash, job_id)
         VALUES ($1, $2, $3, decode($4, 'hex'), $5) ON CONFLICT DO NOTHING`,
        [workspaceId, principal, idempotency.key, idempotency.requestHash, jobId],
      );
      if (rowCount !== 1) throw idempotencyKeyMismatch();
    }
    await client.query(insertAnswerSql, [workspaceId, jobId, answer.id, JSON.stringify(toBody(answer))]);
  }

  /**
   * Adds the messages that a client sent with the results of a round to the job's thread. While a job waits, no other job adds messages to its
   * thread. A start locks the thread first and then may want the session, which is locked here: to prevent a deadlock this waits only for a
   * moment and then fails with an error that `isOvertaken` recognizes; nothing is written.
   */
  async keepSaid(
    { client, workspaceId, jobId, row: { threadId, createdBy } }: HeldJob,
    afterRound: number,
    said: readonly ChatMessage[],
  ): Promise<void> {
    if (threadId === null || said.length === 0) return;
    const rows = said.map((message, i) => ({ i, id: newId(), role: message.role, content: toContent(message) }));
    const locked = await client.query(`${lockThreadSql} SKIP LOCKED`, [workspaceId, threadId]);
    if (locked.rowCount === 0) {
      await client.query(`SET LOCAL lock_timeout = ${threadWaitMs}`);
      await client.query(lockThreadSql, [workspaceId, threadId]);
    }
    await client.query(
      `WITH moved AS (
         UPDATE thread SET next_position = next_position + $7::int, updated_at = clock_timestamp()
          WHERE workspace_id = $1 AND id = $2 RETURNING next_position - $7::int AS position)
       INSERT INTO message (workspace_id, thread_id, id, position, role, content, created_by, said_to_job_id, after_round)
       SELECT $1, $2, s.id, moved.position + s.i, s.role, s.content, $3, $4, $5
         FROM moved, json_to_recordset($6::json) AS s(i int, id uuid, role text, content jsonb)`,
      [workspaceId, threadId, createdBy, jobId, afterRound, JSON.stringify(rows), rows.length],
    );
  }

  /** Does nothing if the latest answer of the session belongs to another job. */
  async moveSession({ client, workspaceId }: HeldJob, from: Answer, toId: string): Promise<void> {
    await client.query(
      `UPDATE openai_session SET latest_answer = $4
        WHERE workspace_id = $1 AND principal = $2 AND session_id = $3 AND latest_answer = $5`,
      [workspaceId, from.principal, from.sessionId, toId, from.id],
    );
  }
}
