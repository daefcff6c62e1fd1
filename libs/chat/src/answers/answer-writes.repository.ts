import { Injectable } from '@nestjs/common';

import { idempotencyKeyMismatch, type LockedJob } from '#jobs';
import type { ChatMessage } from '#models';
import { newId, Prisma } from '#platform';

import { toContent } from '../threads/turn-message.part.js';
import type { Answer, NewAnswer } from './answer.js';
import { answerInsertion } from './answer-part.repository.js';

/** Maximum wait for the lock of a thread, which a start holds for a few statements. Shorter than the deadlock timeout of Postgres. */
const threadWaitMs = 250;

/** Writes answers of continued jobs, in the transaction that has locked the job. */
@Injectable()
export class AnswerWritesRepository {
  /** Serializes the requests of one session. */
  async lockSession({ client, workspaceId }: LockedJob, { principal, sessionId }: Answer): Promise<void> {
    if (sessionId === null) return;
    await client.$queryRaw`
      SELECT 1 FROM openai_session
       WHERE workspace_id = ${workspaceId}::uuid AND principal = ${principal} AND session_id = ${sessionId} FOR UPDATE`;
  }

  /** Stores the answer and its key. Throws `idempotency_key_mismatch` for a key that was used for something else. */
  async insert(job: LockedJob, answer: NewAnswer): Promise<void> {
    const { client, workspaceId, jobId } = job;
    const { principal, idempotency } = answer;
    if (idempotency !== null) {
      const { key, requestHash } = idempotency;
      const admission = { workspaceId, principal, key, requestHash: Buffer.from(requestHash, 'hex'), jobId };
      const { count } = await client.admission.createMany({ data: [admission], skipDuplicates: true });
      if (count !== 1) throw idempotencyKeyMismatch();
    }
    await client.$executeRaw(answerInsertion(job, answer));
  }

  /**
   * Adds the messages that a client sent with the results of a round to the job's thread. While a job waits, no other job adds messages to
   * its thread. A start locks the thread first, and then perhaps the session, which is already locked here. To prevent a deadlock, this
   * method waits only `threadWaitMs` for the thread. Then it fails with an error that `isConcurrentWrite` recognizes, and nothing is written.
   */
  async storeUserMessages(
    { client, workspaceId, jobId, row: { threadId, createdBy } }: LockedJob,
    afterRound: number,
    messages: readonly ChatMessage[],
  ): Promise<void> {
    if (threadId === null || messages.length === 0) return;
    const rows = messages.map((message, i) => ({ i, id: newId(), role: message.role, content: toContent(message) }));
    const lockThread = Prisma.sql`
      SELECT 1 FROM thread WHERE workspace_id = ${workspaceId}::uuid AND id = ${threadId}::uuid FOR NO KEY UPDATE`;
    const locked = await client.$queryRaw<object[]>`${lockThread} SKIP LOCKED`;
    if (locked.length === 0) {
      await client.$queryRaw`SELECT set_config('lock_timeout', ${String(threadWaitMs)}, true)`;
      await client.$queryRaw(lockThread);
    }
    await client.$executeRaw`
      WITH moved AS (
        UPDATE thread SET next_position = next_position + ${rows.length}::int, updated_at = clock_timestamp()
         WHERE workspace_id = ${workspaceId}::uuid AND id = ${threadId}::uuid
        RETURNING next_position - ${rows.length}::int AS position)
      INSERT INTO message (workspace_id, thread_id, id, position, role, content, created_by, said_to_job_id, after_round)
      SELECT ${workspaceId}::uuid, ${threadId}::uuid, message.id, moved.position + message.i, message.role, message.content,
             ${createdBy}::uuid, ${jobId}::uuid, ${afterRound}::int
        FROM moved, json_to_recordset(${JSON.stringify(rows)}::json) AS message(i int, id uuid, role text, content jsonb)`;
  }

  /** Moves the session to a new answer. Does nothing if the latest answer of the session belongs to another job. */
  async moveSession({ client, workspaceId }: LockedJob, from: Answer, toId: string): Promise<void> {
    const { principal, sessionId, id: latestAnswer } = from;
    if (sessionId === null) return;
    const where = { workspaceId, principal, sessionId, latestAnswer };
    await client.openaiSession.updateMany({ where, data: { latestAnswer: toId } });
  }
}
