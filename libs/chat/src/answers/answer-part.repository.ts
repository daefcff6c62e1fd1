import { type CommitPart, type PartRow, partRow } from '#jobs';

import type { NewAnswer } from './answer.js';

interface JobRef {
  readonly workspaceId: string;
  readonly jobId: string;
}

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
    hash text, digest text, "requestDigest" text, resumes uuid, said jsonb, about jsonb)`;

const columns = `workspace_id, id, job_id, principal, session_id, model, format, after_seq, after_round, idempotency_key,
    request_hash, results_digest, request_digest, resumes, said, about`;

const values = `r.workspace_id, r.id, r.job_id, b.principal, b."sessionId", b.model, b.format, b."afterSeq", b."afterRound", b.key,
    decode(b.hash, 'hex'), decode(b.digest, 'hex'), decode(b."requestDigest", 'hex'), b.resumes, b.said, b.about`;

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

/** A session moves from one answer to the next; who believes in another one than there is writes nothing. */
const sessionSteps: CommitPart<SessionRow> = {
  name: 'session_steps',
  columns: [...newSessions.columns, ['after', 'uuid']],
  sql: (rows) => `UPDATE openai_session s SET latest_answer = r.answer FROM ${rows} r
   WHERE s.workspace_id = r.workspace_id AND s.principal = r.principal AND s.session_id = r.session_id
     AND s.latest_answer = r.after RETURNING 1`,
};

/** Written with the job whose answer it is. */
export function newAnswerRow(job: JobRef, answer: NewAnswer): PartRow {
  return partRow(answers, [job.workspaceId, job.jobId, answer.id, toBody(answer)]);
}

/** A session as it goes on with a new answer. */
export interface SessionStep {
  readonly principal: string;
  readonly sessionId: string;
  readonly threadId: string;
  readonly answerId: string;
  /** Its answer until now; null: the session is new. */
  readonly afterAnswerId: string | null;
}

/** Keeps the job from being accepted when the session has gone on meanwhile. */
export function sessionStepRow(job: JobRef, step: SessionStep): PartRow {
  const { principal, sessionId, threadId, answerId, afterAnswerId } = step;
  const row = [job.workspaceId, job.jobId, principal, sessionId, threadId, answerId] as const;
  return afterAnswerId === null ? partRow(newSessions, row) : partRow(sessionSteps, [...row, afterAnswerId]);
}

/** The same statement for one answer, inside a transaction that holds the job. */
export const insertAnswerSql = `INSERT INTO openai_answer (${columns})
  SELECT ${values} FROM (SELECT $1::uuid AS workspace_id, $2::uuid AS job_id, $3::uuid AS id, $4::json AS body) r,
    json_to_record(r.body) AS ${fields}`;

/** Its members as the statements read them. */
export function toBody({ principal, sessionId, model, format, afterSeq, afterRound, ...more }: NewAnswer): object {
  const { idempotency, applied, resumes, about } = more;
  return {
    ...{ principal, sessionId, model, format, afterSeq, afterRound },
    key: idempotency?.key ?? null,
    hash: idempotency?.requestHash ?? null,
    about,
    digest: applied?.results ?? null,
    requestDigest: applied?.request ?? null,
    resumes,
    said: applied === null || applied.said.length === 0 ? null : applied.said,
  };
}

const lockNotAvailable = '55P03';

/** Each is hit by the second of two equal requests that come together. */
const onceOnly: ReadonlySet<unknown> = new Set([
  'openai_answer_workspace_id_principal_idempotency_key_key',
  'openai_answer_resumes',
]);

/** Whether a write failed because another came first, of the same session or thread or with the same key: to be looked at again. */
export function isOvertaken(error: unknown): boolean {
  if (!(error instanceof Error) || !('code' in error)) return false;
  if ('constraint' in error && onceOnly.has(error.constraint)) return true;
  if (error.code === lockNotAvailable) return true;
  return error.code === 'NS001' && /\bsessions\b|\bsession_steps\b/.test(error.message);
}
