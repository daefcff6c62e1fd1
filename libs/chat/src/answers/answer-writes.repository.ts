import { Injectable } from '@nestjs/common';

import { type HeldJob, idempotencyKeyMismatch } from '#jobs';

import type { Answer, NewAnswer } from './answer.js';
import { insertAnswerSql, toBody } from './answer-part.repository.js';

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

  /** Does nothing to a session whose latest answer is that of another job. */
  async moveSession({ client, workspaceId }: HeldJob, from: Answer, toId: string): Promise<void> {
    await client.query(
      `UPDATE openai_session SET latest_answer = $4
        WHERE workspace_id = $1 AND principal = $2 AND session_id = $3 AND latest_answer = $5`,
      [workspaceId, from.principal, from.sessionId, toId, from.id],
    );
  }
}
