import { type CommitPart, type JobRef, mismatchedPart, type PartRow, partRow } from '#jobs';
import { Prisma, sqlState, violatedConstraint } from '#platform';

import type { NewAnswer } from './answer.js';

type AnswerRow = readonly [workspaceId: string, jobId: string, id: string, body: object];
type SessionRow = readonly [
  workspaceId: string,
  jobId: string,
  principal: string,
  sessionId: string,
  threadId: string,
  answerId: string,
  after?: string,
];

const fields = `b(principal text, "sessionId" text, model text, format text, "afterSeq" int, "afterRound" int, key text,
    hash text, digest text, "requestDigest" text, resumes uuid, messages jsonb, about jsonb)`;

const columns = `workspace_id, id, job_id, principal, session_id, model, format, after_seq, after_round, idempotency_key,
    request_hash, results_digest, request_digest, resumes, said, about`;

const values = `r.workspace_id, r.id, r.job_id, b.principal, b."sessionId", b.model, b.format, b."afterSeq", b."afterRound", b.key,
    decode(b.hash, 'hex'), decode(b.digest, 'hex'), decode(b."requestDigest", 'hex'), b.resumes, b.messages, b.about`;

const answers: CommitPart<AnswerRow> = {
  name: 'answers',
  columns: [
    ['workspace_id', 'uuid'],
    ['job_id', 'uuid'],
    ['id', 'uuid'],
    ['body', 'json'],
  ],
  sql: (rows) => `INSERT INTO openai_answer (${columns})
  SELECT ${values} FROM ${rows} r, json_to_record(r.body) AS ${fields} RETURNING 1`,
};

const newSessions: CommitPart<SessionRow> = {
  name: 'sessions',
  columns: [
    ['workspace_id', 'uuid'],
    ['job_id', 'uuid'],
    ['principal', 'text'],
    ['session_id', 'text'],
    ['thread_id', 'uuid'],
    ['answer', 'uuid'],
  ],
  sql: (rows) => `INSERT INTO openai_session (workspace_id, principal, session_id, thread_id, latest_answer)
  SELECT r.workspace_id, r.principal, r.session_id, r.thread_id, r.answer FROM ${rows} r
  ON CONFLICT DO NOTHING RETURNING 1`,
};

/** Moves a session from one answer to the next. If the stored answer is another one, nothing is written. */
const sessionSteps: CommitPart<SessionRow> = {
  name: 'session_steps',
  columns: [...newSessions.columns, ['after', 'uuid']],
  sql: (rows) => `UPDATE openai_session s SET latest_answer = r.answer FROM ${rows} r
   WHERE s.workspace_id = r.workspace_id AND s.principal = r.principal AND s.session_id = r.session_id
     AND s.latest_answer = r.after RETURNING 1`,
};

/** The row of a new `/v1` response, written with its job. */
export function newAnswerRow(job: JobRef, answer: NewAnswer): PartRow {
  return partRow(answers, [job.workspaceId, job.jobId, answer.id, toBody(answer)]);
}

/** The next answer of a session. */
export interface SessionStep {
  readonly principal: string;
  readonly sessionId: string;
  readonly threadId: string;
  readonly answerId: string;
  /** The session's answer so far; null if the session is new. */
  readonly afterAnswerId: string | null;
}

/** Refuses the start of the job if another answer of the session was written meanwhile. */
export function sessionStepRow(job: JobRef, step: SessionStep): PartRow {
  const { principal, sessionId, threadId, answerId, afterAnswerId } = step;
  const row = [job.workspaceId, job.jobId, principal, sessionId, threadId, answerId] as const;
  return afterAnswerId === null ? partRow(newSessions, row) : partRow(sessionSteps, [...row, afterAnswerId]);
}

/** Inserts one answer in a transaction that has locked the job. */
export const answerInsertion = ({ workspaceId, jobId }: JobRef, answer: NewAnswer) => Prisma.sql`
  INSERT INTO openai_answer (${Prisma.raw(columns)})
  SELECT ${Prisma.raw(values)} FROM (SELECT ${workspaceId}::uuid AS workspace_id, ${jobId}::uuid AS job_id,
      ${answer.id}::uuid AS id, ${JSON.stringify(toBody(answer))}::json AS body) r,
    json_to_record(r.body) AS ${Prisma.raw(fields)}`;

/** The members of an answer as the statements read them. */
function toBody({ principal, sessionId, model, format, afterSeq, afterRound, ...more }: NewAnswer): object {
  const { idempotency, applied, resumes, about } = more;
  return {
    ...{ principal, sessionId, model, format, afterSeq, afterRound },
    key: idempotency?.key ?? null,
    hash: idempotency?.requestHash ?? null,
    about,
    digest: applied?.results ?? null,
    requestDigest: applied?.request ?? null,
    resumes,
    messages: applied === null || applied.messages.length === 0 ? null : applied.messages,
  };
}

const lockNotAvailable = '55P03';

/** Unique constraints. Of two equal concurrent requests, the second violates one of them. */
const onceOnly: ReadonlySet<string | undefined> = new Set([
  'openai_answer_workspace_id_principal_idempotency_key_key',
  'openai_answer_resumes',
]);

/** Whether a write failed because a concurrent write for the same session, thread or key was committed first. The caller then reads again. */
export function isConcurrentWrite(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  const constraint = violatedConstraint(error);
  if (constraint !== undefined && onceOnly.has(constraint)) return true;
  const part = mismatchedPart(error);
  return sqlState(error) === lockNotAvailable || part === 'sessions' || part === 'session_steps';
}
