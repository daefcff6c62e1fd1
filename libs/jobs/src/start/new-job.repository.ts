import { Injectable } from '@nestjs/common';

import { Config, fileHashesIn, type PrismaTransaction, type SqlStatement } from '#platform';

import { ceilingsOf, holderOf, isCountable, storedLimitsOf } from '../capacity/capacity-statement.js';
import { countActive, countActiveOfAgent, countUnfinished } from '../capacity/load-statement.js';
import {
  partChecks,
  partClauses,
  partParameters,
  type PartRow,
  partsOf,
  statementName,
} from '../events/commit-part.js';
import type { NewJobEvent } from '../events/job-event.js';
import { delayedFormat, type JobKind, jobKinds } from '../job.js';
import { JobQueue } from '../queue/job-queue.js';
import type { ClaimedJob } from '../run/lease.repository.js';
import { TurnMessages } from '../thread-queue/turn-messages.js';
import { keyOwner, type StartRequest } from './start-request.js';

/** A job to be inserted, with all rows of its acceptance. */
export interface NewJob {
  readonly request: StartRequest;
  readonly threadId: string | null;
  readonly messageId: string | null;
  readonly isDeferred: boolean;
  readonly newThread: { readonly title: string; readonly clientId: string | null } | null;
  readonly event: NewJobEvent;
  /** First free position of the thread. The messages enter the conversation now, unless the job is queued behind another. */
  readonly position: number;
  /** For a sub-job: its root job and its depth. */
  readonly ancestry: { readonly rootJobId: string; readonly depth: number } | null;
  /** The process that has reserved a slot and begins the job if the caps allow it; null: a worker must claim it. */
  readonly owner: string | null;
}

const askedColumns = `SELECT * FROM json_to_recordset($2::json) AS w(i int, id uuid, kind text, format int, in_line bool, thread_id uuid, message_id uuid,
    message_client_id text, created_by uuid, principal text, idempotency_key text, request_hash text, retry_of uuid,
    parent_job_id uuid, parent_call_id uuid, root_job_id uuid, depth int,
    workflow_id uuid, workflow_version int, agent_id uuid, model text, input jsonb, file_hashes text[], background_mode jsonb, foreground boolean, key_cipher text, title text,
    client_id text, messages int, event jsonb, owner text, start_at timestamptz, labels jsonb, external_user text, queue_order text,
    key_owner text)`;

/** Inserts all jobs: the transaction has decided to accept them. */
const wantAll = `WITH asked AS (
  ${askedColumns}),
want AS (SELECT * FROM asked),`;

/** The caps on running jobs, of the workspace `s`. */
const caps = { workspace: 'least(s.max_jobs, $5)', user: 'least(s.max_jobs_per_user, $6)' };

/**
 * Inserts all jobs or none: the statement checks whether a key is known or a limit is reached. Without the workspace's lock, its transaction
 * inserts none; with the lock, the results of both checks stay true until it ends. Each count stops at its limit.
 */
const wantUnlessKnown = `WITH asked AS (
  ${askedColumns}),
users AS (SELECT created_by AS id, count(*) AS jobs FROM asked WHERE created_by IS NOT NULL GROUP BY 1),
agents AS (
  SELECT c.id, c.max_running_jobs AS cap, (SELECT count(*) FROM asked a WHERE a.agent_id = c.id) AS jobs
    FROM agent c WHERE c.workspace_id = $1 AND c.id IN (SELECT agent_id FROM asked) AND c.max_running_jobs IS NOT NULL),
want AS (
  SELECT * FROM asked WHERE EXISTS (
    SELECT 1 FROM workspace s, (SELECT count(*) AS jobs FROM asked) AS a
     WHERE s.id = $1 AND current_setting('app.started', true) = $1::text
       AND a.jobs + ${countUnfinished({ user: null, limit: '$7' })} <= $7
       AND (s.when_full = 'queue' OR a.jobs + ${countActive({ user: null, limit: caps.workspace })} <= ${caps.workspace})
       AND NOT EXISTS (
         SELECT 1 FROM users u WHERE u.jobs + ${countUnfinished({ user: 'u.id', limit: '$8' })} > $8
             OR s.when_full <> 'queue' AND u.jobs + ${countActive({ user: 'u.id', limit: caps.user })} > ${caps.user})
       AND (s.when_full = 'queue' OR NOT EXISTS (
         SELECT 1 FROM agents c WHERE c.jobs + ${countActiveOfAgent({ agent: 'c.id', limit: 'c.cap' })} > c.cap))
       AND NOT EXISTS (
         SELECT 1 FROM asked a
           JOIN admission k ON k.workspace_id = $1 AND k.principal = a.key_owner AND k.key = a.idempotency_key))),`;

/**
 * Selects the new jobs that begin at once, among those with a slot of this process: as many as the caps allow, and none while older jobs of
 * the workspace are queued. The other new jobs are queued. The transaction must have the lock of the count.
 */
const beginning = `
running AS (
  SELECT ${holderOf('j')} AS holder, j.agent_id, count(*) AS jobs FROM job j
   WHERE j.workspace_id = $1 AND j.status = 'running' GROUP BY 1, 2),
turns AS (
  SELECT w.i, w.created_by, coalesce((SELECT sum(r.jobs) FROM running r WHERE r.holder = w.created_by), 0)
           + row_number() OVER (PARTITION BY w.created_by ORDER BY w.i) AS turn,
         c.max_running_jobs AS agent_cap, coalesce((SELECT sum(r.jobs) FROM running r WHERE r.agent_id = c.id), 0)
           + row_number() OVER (PARTITION BY w.agent_id ORDER BY w.i) AS agent_turn
    FROM want w LEFT JOIN agent c ON c.workspace_id = $1 AND c.id = w.agent_id
   WHERE w.owner IS NOT NULL AND ${isCountable('$1')}
     AND NOT EXISTS (SELECT 1 FROM job j WHERE j.workspace_id = $1 AND j.status = 'queued' AND NOT j.in_line)),
begun AS (
  SELECT i FROM (
    SELECT t.i, least(s.max_jobs, $5) AS cap, row_number() OVER (ORDER BY t.i) + coalesce((SELECT sum(jobs) FROM running), 0) AS place
      FROM turns t JOIN workspace s ON s.id = $1
     WHERE (t.created_by IS NULL OR t.turn <= least(s.max_jobs_per_user, $6))
       AND (t.agent_cap IS NULL OR t.agent_turn <= t.agent_cap)) AS p
   WHERE place <= cap)`;

/** A job that begins is inserted as claimed: with the columns and events of a job that was queued and claimed at once. */
const insertWanted = `${beginning},
threads AS (
  INSERT INTO thread (workspace_id, id, client_id, title, created_by, external_user, next_position)
  SELECT $1, thread_id, client_id, title, created_by, external_user, 1 + messages FROM want WHERE title IS NOT NULL),
moved AS (
  UPDATE thread t SET next_position = t.next_position + w.messages, updated_at = clock_timestamp() FROM want w
   WHERE w.title IS NULL AND w.messages > 0 AND t.workspace_id = $1 AND t.id = w.thread_id),
up AS (
  INSERT INTO job (workspace_id, id, kind, format, in_line, start_at, thread_id, message_id, message_client_id, created_by, principal,
                   idempotency_key, retry_of, parent_job_id, parent_call_id, root_job_id, depth, workflow_id, workflow_version, agent_id,
                   model, input, file_hashes, background_mode, foreground, key_cipher, external_user, queue_order, created_at, last_seq, status, lease_owner,
                   lease_epoch, attempts, lease_until, started_at, deadline_at, labels)
  SELECT $1, id, kind, format, in_line, start_at, thread_id, message_id, message_client_id, created_by, principal, idempotency_key,
         retry_of, parent_job_id, parent_call_id, root_job_id, coalesce(depth, 0), workflow_id, workflow_version, agent_id, model, input,
         file_hashes, background_mode, coalesce(foreground, false), decode(key_cipher, 'hex'), external_user, queue_order, now.at, 1 + claims, CASE claims WHEN 0 THEN 'queued' ELSE 'running' END,
         CASE claims WHEN 1 THEN owner END, claims, claims, CASE claims WHEN 1 THEN now.at + $3::int * interval '1 ms' END, CASE claims WHEN 1 THEN now.at END,
         CASE claims WHEN 1 THEN now.at + $4::int * interval '1 ms' END, labels
    FROM want, LATERAL (SELECT (i IN (SELECT i FROM begun))::int AS claims) AS c, (SELECT clock_timestamp() AS at) AS now
  RETURNING workspace_id, id, lease_epoch, status),
logged AS (
  INSERT INTO job_event (workspace_id, job_id, seq, epoch, type, body, at)
  SELECT $1, id, 1, 0, 'job-queued', event, clock_timestamp() FROM want
  UNION ALL
  SELECT $1, id, 2, 1, 'job-started', '{"epoch":1}', clock_timestamp() FROM want WHERE i IN (SELECT i FROM begun)),
admitted AS (
  INSERT INTO admission (workspace_id, principal, key, request_hash, job_id)
  SELECT $1, key_owner, idempotency_key, decode(request_hash, 'hex'), id FROM want WHERE idempotency_key IS NOT NULL)`;

/**
 * Builds the statements that insert jobs with all their rows: `insertion` for accepted jobs, `insertionUnlessKnown` for jobs whose keys and
 * limits the statement itself checks.
 */
@Injectable()
export class NewJobRepository {
  /** The text of each statement, by its name. Few combinations exist. */
  private readonly texts = new Map<string, string>();

  constructor(
    private readonly turns: TurnMessages,
    private readonly queue: JobQueue,
    private readonly config: Config,
  ) {}

  /**
   * One statement for the whole batch, the last of its transaction: threads, jobs, first events, messages, keys, rows of the caller, and the
   * queue messages of the jobs that a worker must claim. The statement returns an `InsertedJob` for each job.
   */
  insertion(workspaceId: string, jobs: readonly NewJob[]): SqlStatement {
    return this.statement(workspaceId, jobs, { name: 'start-insert', text: wantAll, limits: [] });
  }

  /**
   * Like `insertion`, for undecided jobs: inserts all of them, or none if a key is known, a limit is reached, or another transaction had the
   * workspace's lock.
   */
  insertionUnlessKnown(workspaceId: string, jobs: readonly NewJob[]): SqlStatement {
    const { workspace, user } = storedLimitsOf(this.config);
    return this.statement(workspaceId, jobs, {
      name: 'start-optimistic',
      text: wantUnlessKnown,
      limits: [workspace, user],
    });
  }

  private statement(
    workspaceId: string,
    jobs: readonly NewJob[],
    want: { readonly name: string; readonly text: string; readonly limits: readonly number[] },
  ): SqlStatement {
    const { LEASE_MS, JOB_TIMEOUT_MS } = this.config.values;
    const ceilings = ceilingsOf(this.config);
    const messages = jobs.map((job) => this.messagesOf(job));
    const conditions = jobs.flatMap(({ request }) => request.condition ?? []);
    const rows = [...messages.flat(), ...jobs.flatMap(({ request }) => request.extraRows ?? []), ...conditions];
    const parts = partsOf(rows);
    const queued = jobs.filter(({ isDeferred, owner }) => !isDeferred && owner === null);
    const kinds = jobKinds.filter((kind) => queued.some(({ request }) => request.kind === kind));
    const name = statementName([want.name, ...kinds].join('-'), parts);
    const text =
      this.texts.get(name) ??
      `${want.text}${insertWanted}${this.sentClauses(kinds)}${partClauses(parts, 7 + want.limits.length)}
SELECT up.id AS "jobId", up.status = 'running' AS begun${partChecks(parts)} FROM up`;
    this.texts.set(name, text);
    return {
      ...{ name, text },
      values: [
        workspaceId,
        JSON.stringify(jobs.map((job, i) => toRow(job, i, messages[i]?.length ?? 0))),
        ...[LEASE_MS, JOB_TIMEOUT_MS, ceilings.workspace, ceilings.user, ...want.limits],
        ...partParameters(parts, rows),
      ],
    };
  }

  private sentClauses(kinds: readonly JobKind[]): string {
    const queued = `SELECT $1::uuid AS workspace_id, id FROM want WHERE NOT in_line AND owner IS NULL`;
    return kinds
      .map((kind) => `,\nsent_${kind} AS (${this.queue.startInsertionOf(kind, `${queued} AND kind = '${kind}'`)})`)
      .join('');
  }

  /** Sends the messages of the jobs that begin later. */
  async sendDelayed(tx: PrismaTransaction, jobs: readonly NewJob[]): Promise<void> {
    const messages = jobs.flatMap(({ request: { workspaceId, jobId, startAt } }) =>
      startAt === undefined ? [] : [{ queue: 'job.due', data: { workspaceId, jobId }, startAfter: startAt } as const],
    );
    await this.queue.sendAll(tx, messages);
  }

  /** The job as a claim would have returned it. */
  claimed({ request, threadId, messageId }: NewJob): ClaimedJob {
    const {
      jobId,
      workspaceId,
      kind,
      format = 1,
      createdBy,
      principal,
      model,
      labels = {},
      input,
      keyCipher,
    } = request;
    return {
      ...{ workspaceId, jobId, kind, format, threadId, messageId, createdBy, principal, model, labels, keyCipher },
      parentJobId: request.parent?.jobId ?? null,
      workflowId: request.workflow?.id ?? null,
      workflowVersion: request.workflow?.version ?? null,
      agentId: request.agentId ?? null,
      input: JSON.parse(JSON.stringify(input)), // as it would be read from the row
      ...{ epoch: 1, attempts: 1, lastSeq: 2, previousOwner: null, interrupted: null, lastError: null },
      ...{
        restarts: 0,
        rounds: 0,
        toolCalls: 0,
        promptTokens: 0,
        completionTokens: 0,
        contentLength: 0,
        externalUpdates: 0,
      },
      ...{ cancelRequested: false, reason: null, isDelayed: false },
      ...{ remainingMs: this.config.values.JOB_TIMEOUT_MS, createdAt: Date.now(), waitedMs: 0 },
    };
  }

  private messagesOf({ request, threadId, messageId, isDeferred, position }: NewJob): readonly PartRow[] {
    if (threadId === null || messageId === null || isDeferred) return [];
    return this.turns.rows(request.kind, { ...request, threadId, messageId, position });
  }
}

function toRow(job: NewJob, i: number, messages: number): object {
  const { request, event } = job;
  return {
    i,
    id: request.jobId,
    kind: request.kind,
    format: request.startAt === undefined ? (request.format ?? 1) : delayedFormat,
    in_line: job.isDeferred,
    thread_id: job.threadId,
    message_id: job.messageId,
    message_client_id: request.messageClientId,
    created_by: request.createdBy,
    principal: request.principal,
    idempotency_key: request.idempotency?.key,
    key_owner: keyOwner(request),
    request_hash: request.idempotency?.requestHash,
    retry_of: request.retryOf,
    parent_job_id: request.parent?.jobId,
    parent_call_id: request.parent?.callId,
    root_job_id: job.ancestry?.rootJobId,
    depth: job.ancestry?.depth,
    workflow_id: request.workflow?.id,
    workflow_version: request.workflow?.version,
    agent_id: request.agentId,
    model: request.model,
    labels: request.labels ?? {},
    input: request.input,
    file_hashes: fileHashesIn(JSON.stringify(request.input)),
    background_mode: request.backgroundMode,
    foreground: request.foreground,
    external_user: request.externalUser,
    queue_order: request.queueOrder,
    key_cipher: request.keyCipher === null ? null : Buffer.from(request.keyCipher).toString('hex'),
    title: job.newThread?.title,
    client_id: job.newThread?.clientId,
    messages,
    event: event.body,
    owner: job.owner,
    ...(request.startAt === undefined ? {} : { start_at: new Date(request.startAt).toISOString() }),
  };
}
