import { Injectable } from '@nestjs/common';

import type { Principal } from '#auth';
import { isTerminal } from '#jobs';
import { Prisma, PrismaService, type PrismaTransaction } from '#platform';

import type { ToolEventFormat } from '../input/agent.js';
import type { Answer, AnsweredSessionCall, AnswerState, ContinuationDigests, KnownAnswers } from './answer.js';

type Requester = Pick<Principal, 'workspaceId' | 'id'>;

interface AnswerRow extends Omit<Answer, 'job' | 'state'> {
  readonly kind: Answer['job']['kind'];
  readonly status: Answer['job']['status'];
  readonly lastSeq: number;
  readonly createdBy: string | null;
  readonly isPaused: boolean;
}

interface KnownRow extends AnswerRow {
  readonly why: 'session' | 'pending' | 'applied';
  readonly threadId: string | null;
  readonly latestId: string | null;
  /** For `applied`: all other fields of the request were equal. For `pending`: an ended job has used the id of its call before. */
  readonly mark: boolean | null;
}

/** The values by which a request refers to stored answers. */
export interface AnswerLookup {
  readonly sessionId: string | null;
  /** Ids of calls, if the request contains their results. */
  readonly callIds: readonly string[];
  /** Null if the request contains no results that may have been applied before. */
  readonly digests: ContinuationDigests | null;
  /** The model that the request names. */
  readonly model: string;
}

/** Calls of older answers are not searched, so that the cost of a turn does not grow with its conversation. */
const maxAnswers = 500;

/** Only calls of the client are open: no other request, and no call that runs elsewhere. */
const isPaused = Prisma.sql`j.status = 'waiting' AND j.cancel_requested_at IS NULL
    AND EXISTS (SELECT 1 FROM interrupt i WHERE i.workspace_id = j.workspace_id AND i.job_id = j.id AND i.status = 'open')
    AND NOT EXISTS (SELECT 1 FROM interrupt i WHERE i.workspace_id = j.workspace_id AND i.job_id = j.id AND i.status = 'open'
                       AND i.kind <> 'client_tool')
    AND NOT EXISTS (SELECT 1 FROM tool_call c WHERE c.workspace_id = j.workspace_id AND c.job_id = j.id
                       AND c.status = 'running' AND c.executor IN ('queue', 'job'))`;

const selected = Prisma.sql`a.workspace_id AS "workspaceId", a.id, a.job_id AS "jobId", a.principal, a.session_id AS "sessionId", a.model,
  a.format, a.after_seq AS "afterSeq", a.after_round AS "afterRound", encode(a.request_hash, 'hex') AS "requestHash",
  j.kind, j.status, j.last_seq AS "lastSeq",
  j.created_by AS "createdBy", ${isPaused} AS "isPaused",
  CASE WHEN a.model = 'auto' THEN (SELECT e.body->>'slug' FROM job_event e WHERE e.workspace_id = a.workspace_id
     AND e.job_id = a.job_id AND e.type = 'agent-selected' LIMIT 1) END AS agent`;

const newest = Prisma.sql`ORDER BY x.after_round DESC, x.id DESC LIMIT 1`;

const known = ({ workspaceId, id }: Requester, { sessionId, callIds, digests, model }: AnswerLookup) => {
  const { results = null, request = null } = digests ?? {};
  return Prisma.sql`WITH found AS (
  SELECT 'session' AS why, s.latest_answer AS id, s.thread_id, NULL::boolean AS mark FROM openai_session s
   WHERE s.workspace_id = ${workspaceId}::uuid AND s.principal = ${id} AND s.session_id = ${sessionId}::text
  UNION ALL
  (SELECT 'pending', (SELECT x.id FROM openai_answer x WHERE x.workspace_id = ${workspaceId}::uuid AND x.job_id = i.job_id ${newest}), NULL,
      EXISTS (SELECT 1 FROM openai_call_id o WHERE o.workspace_id = ${workspaceId}::uuid AND o.principal = ${id} AND o.call_id = i.call_id AND o.reused)
     FROM interrupt i WHERE i.workspace_id = ${workspaceId}::uuid AND i.principal = ${id} AND i.call_id = ANY(${[...callIds]}::text[]) AND i.status = 'open'
      AND i.kind = 'client_tool' ORDER BY i.id DESC LIMIT 1)
  UNION ALL
  (SELECT 'applied', x.id, NULL, x.request_digest IS NOT DISTINCT FROM decode(${request}, 'hex')
          AND ('auto' IN (${model}, x.model) OR x.model = ${model}) AS mark FROM openai_answer x
    WHERE x.workspace_id = ${workspaceId}::uuid AND x.principal = ${id} AND x.results_digest = decode(${results}, 'hex')
      AND (${sessionId}::text IS NULL OR x.session_id = ${sessionId}::text) ORDER BY mark DESC, x.id DESC LIMIT 1))
SELECT found.why, found.thread_id AS "threadId", found.id AS "latestId", found.mark, ${selected}
  FROM found LEFT JOIN openai_answer a ON a.workspace_id = ${workspaceId}::uuid AND a.id = found.id
  LEFT JOIN job j ON j.workspace_id = a.workspace_id AND j.id = a.job_id`;
};

/** Answers to `/v1` requests. Each is visible only to the principal of its request. */
@Injectable()
export class AnswersRepository {
  constructor(private readonly prisma: PrismaService) {}

  /** The answer of this idempotency key; null if there is none. */
  async findByKey({ workspaceId, id }: Requester, key: string): Promise<Answer | null> {
    const rows = await this.prisma.queryInWorkspace<AnswerRow>(
      { workspaceId },
      Prisma.sql`SELECT ${selected} FROM openai_answer a JOIN job j ON j.workspace_id = a.workspace_id AND j.id = a.job_id
              WHERE a.workspace_id = ${workspaceId}::uuid AND a.principal = ${id} AND a.idempotency_key = ${key}`,
    );
    return rows[0] === undefined ? null : toAnswer(rows[0]);
  }

  /** The answer with this id; null if there is none. */
  async find({ workspaceId, id: principal }: Requester, id: string): Promise<Answer | null> {
    const rows = await this.prisma.queryInWorkspace<AnswerRow>(
      { workspaceId },
      Prisma.sql`SELECT ${selected} FROM openai_answer a JOIN job j ON j.workspace_id = a.workspace_id AND j.id = a.job_id
              WHERE a.workspace_id = ${workspaceId}::uuid AND a.principal = ${principal} AND a.id = ${id}::uuid`,
    );
    return rows[0] === undefined ? null : toAnswer(rows[0]);
  }

  /** The answers that a request may continue or repeat. */
  async known(asker: Requester, lookup: AnswerLookup): Promise<KnownAnswers> {
    const rows = await this.prisma.queryInWorkspace<KnownRow>(asker, known(asker, lookup));
    const of = (why: KnownRow['why']) => rows.find((row) => row.why === why);
    const session = of('session');
    const answerOf = (row: KnownRow | undefined) => (isWhole(row) ? toAnswer(row) : null);
    const applied = answerOf(of('applied'));
    return {
      session:
        session?.threadId == null || session.latestId === null
          ? null
          : { threadId: session.threadId, latestId: session.latestId, latest: answerOf(session) },
      pending: answerOf(of('pending')),
      isIdReused: of('pending')?.mark === true,
      applied: applied === null ? null : { answer: applied, isSame: of('applied')?.mark === true },
    };
  }

  /** The calls with these ids that are settled in the session's newest 500 answers. If a provider repeated an id, the newest call. */
  async callsOf(asker: Requester, sessionId: string, ids: readonly string[]): Promise<AnsweredSessionCall[]> {
    const { workspaceId, id } = asker;
    if (ids.length === 0) return [];
    return this.prisma.queryInWorkspace<AnsweredSessionCall>(
      { workspaceId },
      Prisma.sql`SELECT DISTINCT ON (c.call_id) c.call_id AS id, c.name, c.arguments,
                    coalesce(c.result, c.error->>'message', '') AS result
               FROM (SELECT DISTINCT n.job_id FROM (SELECT job_id FROM openai_answer
                       WHERE workspace_id = ${workspaceId}::uuid AND principal = ${id} AND session_id = ${sessionId} ORDER BY id DESC LIMIT ${maxAnswers}) n) a
               JOIN tool_call c ON c.workspace_id = ${workspaceId}::uuid AND c.job_id = a.job_id
              WHERE c.call_id = ANY(${[...ids]}::text[]) AND c.finished_at IS NOT NULL ORDER BY c.call_id, c.id DESC`,
    );
  }

  /**
   * User messages in a thread since a call was handed to a client there, oldest first: messages sent with results of the call's round, and
   * messages of later turns.
   */
  async userMessagesSince(
    { workspaceId, id: principal }: Requester,
    { threadId, callId, limit }: { readonly threadId: string; readonly callId: string; readonly limit: number },
  ): Promise<readonly unknown[]> {
    const rows = await this.prisma.queryInWorkspace<{ content: unknown }>(
      { workspaceId },
      Prisma.sql`SELECT m.content FROM (SELECT c.job_id, c.round FROM tool_call c
                       JOIN job j ON j.workspace_id = ${workspaceId}::uuid AND j.id = c.job_id AND j.principal = ${principal}
                      WHERE c.workspace_id = ${workspaceId}::uuid AND c.thread_id = ${threadId}::uuid AND c.call_id = ${callId} ORDER BY c.id DESC LIMIT 1) o
               JOIN message a ON a.workspace_id = ${workspaceId}::uuid AND a.job_id = o.job_id AND a.thread_id = ${threadId}::uuid
               JOIN message m ON m.workspace_id = ${workspaceId}::uuid AND m.thread_id = ${threadId}::uuid AND m.position > a.position AND m.role = 'user'
                AND (m.said_to_job_id IS DISTINCT FROM o.job_id OR m.after_round >= o.round) ORDER BY m.position LIMIT ${limit}`,
    );
    return rows.map(({ content }) => content);
  }

  /** The round after which the job's next answer begins; null if this answer is the last one. */
  async endOfWindow({ workspaceId, jobId, afterRound }: Answer): Promise<number | null> {
    const { _min: next } = await this.prisma.withWorkspace({ workspaceId }, (tx) =>
      tx.openaiAnswer.aggregate({
        where: { workspaceId, jobId, afterRound: { gt: afterRound } },
        _min: { afterRound: true },
      }),
    );
    return next.afterRound;
  }

  /** The `toolEventFormat` of the agent that the job of an answer chose; null if it is not set, or no agent is chosen yet. */
  async formatOfChosen({ workspaceId, jobId }: Answer): Promise<ToolEventFormat | null> {
    const rows = await this.prisma.queryInWorkspace<{ format: ToolEventFormat | null }>(
      { workspaceId },
      Prisma.sql`SELECT v.tool_event_format AS format FROM job_event e JOIN agent_version v ON v.workspace_id = ${workspaceId}::uuid
                AND v.agent_id = (e.body->>'agent')::uuid AND v.number = (e.body->>'version')::int
              WHERE e.workspace_id = ${workspaceId}::uuid AND e.job_id = ${jobId}::uuid AND e.type = 'agent-selected' LIMIT 1`,
    );
    return rows[0]?.format ?? null;
  }

  /** Whether the server has started a `once` tool for the job. If so, a retry of the whole request might repeat its effect. */
  async hasRunOnce({ workspaceId, jobId }: Pick<Answer, 'workspaceId' | 'jobId'>): Promise<boolean> {
    const begun = [{ startedAt: { not: null } }, { status: 'running', executor: 'queue' }];
    const call = await this.prisma.withWorkspace({ workspaceId }, (tx) =>
      tx.toolCall.findFirst({
        where: { workspaceId, jobId, effect: 'once', executor: { not: 'client' }, OR: begun },
        select: { id: true },
      }),
    );
    return call !== null;
  }

  /** The newest answer of a job, in the transaction that has locked the job. Null if a client other than `/v1` started the job. */
  async latestOf(tx: PrismaTransaction, workspaceId: string, jobId: string): Promise<Answer | null> {
    const [row] = await tx.$queryRaw<AnswerRow[]>(
      Prisma.sql`SELECT ${selected} FROM openai_answer a JOIN job j ON j.workspace_id = a.workspace_id AND j.id = a.job_id
        WHERE a.workspace_id = ${workspaceId}::uuid AND a.job_id = ${jobId}::uuid ORDER BY a.after_round DESC, a.id DESC LIMIT 1`,
    );
    return row === undefined ? null : toAnswer(row);
  }
}

/** Returns false if the job of the session was deleted. */
function isWhole(row: KnownRow | undefined): row is KnownRow {
  return row !== undefined && typeof row.jobId === 'string';
}

function toAnswer({ kind, status, lastSeq, createdBy, isPaused: paused, ...answer }: AnswerRow): Answer {
  const { workspaceId, id, jobId, principal, sessionId, model, format, afterSeq, afterRound, ...rest } = answer;
  const { requestHash, agent } = rest;
  const state: AnswerState = isTerminal(status) ? 'over' : paused ? 'paused' : 'busy';
  return {
    ...{
      workspaceId,
      id,
      jobId,
      principal,
      sessionId,
      model,
      format,
      afterSeq,
      afterRound,
      requestHash,
      agent,
    },
    job: { kind, status, lastSeq, createdBy },
    state,
  };
}
