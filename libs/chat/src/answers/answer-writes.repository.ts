import { Injectable } from '@nestjs/common';

import type { HeldJob } from '#jobs';

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

  async insert({ client, workspaceId, jobId }: HeldJob, answer: NewAnswer): Promise<void> {
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
