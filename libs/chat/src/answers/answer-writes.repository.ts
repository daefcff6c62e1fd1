import { Injectable } from '@nestjs/common';

import { type HeldJob, idempotencyKeyMismatch } from '#jobs';
import type { ChatMessage } from '#models';
import { newId } from '#platform';

import { toContent } from '../threads/turn-message-part.repository.js';
import type { Answer, NewAnswer } from './answer.js';
import { insertAnswerSql, toBody } from './answer-part.repository.js';

const lockThreadSql = 'SELECT 1 FROM thread WHERE workspace_id = $1 AND id = $2 FOR NO KEY UPDATE';

/** A start holds a thread for as long as one statement takes; less than Postgres needs to call two that wait for each other a deadlock. */
const threadWaitMs = 250;

/** Answers of jobs that go on, written in the transaction that holds the job. */
@Injectable()
export class AnswerWritesRepository {
  /** Requests of one session come one after the other. */
  async lockSession({ client, workspaceId }: HeldJob, { principal, sessionId }: Answer): Promise<void> {
    if (sessionId === null) return;
    await client.query(
      `SELECT 1 FROM openai_session WHERE workspace_id = $1 AND principal = $2 AND session_id = $3 FOR UPDATE`,
      [workspaceId, principal, sessionId],
    );
  }

  /** Its key becomes one of the job's. Throws `idempotency_key_mismatch` for one that stands for something else. */
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
   * What is said beside the results of a round joins the job's thread. While a job waits, nobody else takes positions of its
   * thread. Who starts a job there holds the thread and may want the session, which is held here: so this waits for a moment only,
   * and then gives way; nothing is written, and the failure is one that `isOvertaken` recognises.
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

  /** Does nothing to a session whose latest answer is that of another job. */
  async moveSession({ client, workspaceId }: HeldJob, from: Answer, toId: string): Promise<void> {
    await client.query(
      `UPDATE openai_session SET latest_answer = $4
        WHERE workspace_id = $1 AND principal = $2 AND session_id = $3 AND latest_answer = $5`,
      [workspaceId, from.principal, from.sessionId, toId, from.id],
    );
  }
}
