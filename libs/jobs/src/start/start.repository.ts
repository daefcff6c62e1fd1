import { Injectable } from '@nestjs/common';

import {
  Config,
  isId,
  type JobRow,
  Postgres,
  PrismaService,
  type PrismaTransaction,
  type SqlStatement,
} from '#platform';

import { ceilingsOf, lockCounts, storedLimitsOf } from '../capacity/capacity-statement.js';
import { countActive, countActiveOfAgent, countUnfinished } from '../capacity/load-statement.js';
import { isJobStatus, type JobStatus } from '../job.lifecycle.js';
import { maxSuperseded, ownedKey, threadKey } from './admit.js';
import {
  keyOwner,
  type KnownAgent,
  type KnownKey,
  type KnownParent,
  type KnownThread,
  type Load,
  type StartFacts,
  type StartRequest,
} from './start-request.js';

interface Statement {
  readonly name: string;
  readonly text: string;
}

/** A row for each request of a batch, with what it refers to. */
const askedRows = `asked AS (
  SELECT * FROM json_to_recordset($2::json) AS a(job_id uuid, principal text, key text, thread_ref text, thread_id uuid,
    created_by uuid, message text, agent_id uuid, parent_job_id uuid, parent_call_id uuid)),
asked_thread AS (SELECT DISTINCT thread_ref, thread_id, created_by FROM asked WHERE thread_ref IS NOT NULL)`;

/** The thread \`t\` that the request \`a\` refers to, by our id or by the client's. */
const isAsked =
  't.workspace_id = $1 AND (t.id = a.thread_id OR (t.client_id = a.thread_ref AND t.created_by = a.created_by))';

/**
 * Locks the workspace, then the threads and the parents of the requests. A cancel of a parent, or the end of its call, takes the same lock:
 * no sub-job begins after it. Returns no row if the workspace does not exist.
 */
const locksSql = `WITH ${askedRows},
locked_workspace AS (SELECT id FROM workspace WHERE id = $1 FOR NO KEY UPDATE),
locked_thread AS (
  SELECT t.id FROM locked_workspace s, asked_thread a JOIN thread t ON ${isAsked}
   WHERE t.workspace_id = s.id ORDER BY t.id FOR NO KEY UPDATE OF t),
locked_parent AS (
  SELECT j.id FROM locked_workspace s, asked a JOIN job j ON j.workspace_id = $1 AND j.id = a.parent_job_id
   WHERE j.workspace_id = s.id ORDER BY j.id FOR NO KEY UPDATE OF j)
SELECT array(SELECT id FROM locked_thread) AS "threadIds", array(SELECT id FROM locked_parent) AS "parentIds" FROM locked_workspace`;

/** Locks the workspace if no other transaction has locked it. A transaction setting passes the result to the following statements. */
const freeWorkspaceStatement: Statement = {
  name: 'start-free-workspace',
  text: `SELECT set_config('app.started', s.id::text, true)
  FROM (SELECT id FROM workspace WHERE id = $1 FOR NO KEY UPDATE SKIP LOCKED) AS s`,
};

/** Like `freeWorkspaceStatement`, then acquires the lock of the count of running jobs, if that is free too. */
const freeCountStatement: Statement = {
  name: 'start-free-count',
  text: `SELECT set_config('app.started', s.id::text, true), (${lockCounts('SELECT s.id::text')})
  FROM (SELECT id FROM workspace WHERE id = $1 FOR NO KEY UPDATE SKIP LOCKED) AS s`,
};

const lockCountSql = lockCounts('SELECT $1::text');

/**
 * What the decisions depend on, in one row. It counts the jobs of the workspace (the element without a user) and of each user of the batch,
 * each count up to its limit. A workspace that queues starts over its caps needs neither `active`, which is 0 then, nor agents with a cap.
 * If two threads have the same reference, the last one is used: the one with our id.
 */
const factsSql = `WITH ${askedRows},
limits AS (
  SELECT when_full, when_busy, least(max_jobs, $5) AS workspace_cap, least(max_jobs_per_user, $6) AS user_cap FROM workspace WHERE id = $1),
counted AS (
  SELECT NULL::uuid AS "user", ${countUnfinished({ user: null, limit: '$3' })} AS unfinished,
         CASE s.when_full WHEN 'queue' THEN 0 ELSE ${countActive({ user: null, limit: 's.workspace_cap' })} END AS active
    FROM limits s
  UNION ALL
  SELECT u.id, ${countUnfinished({ user: 'u.id', limit: '$4' })},
         CASE s.when_full WHEN 'queue' THEN 0 ELSE ${countActive({ user: 'u.id', limit: 's.user_cap' })} END
    FROM limits s, (SELECT DISTINCT created_by AS id FROM asked WHERE created_by IS NOT NULL) AS u),
capped_agent AS (
  SELECT c.id, c.max_running_jobs AS "maxRunningJobs", ${countActiveOfAgent({ agent: 'c.id', limit: 'c.max_running_jobs' })} AS active
    FROM (SELECT DISTINCT agent_id FROM asked) AS a
    JOIN agent c ON c.workspace_id = $1 AND c.id = a.agent_id AND c.max_running_jobs IS NOT NULL
    JOIN limits s ON s.when_full <> 'queue'),
known_key AS (
  SELECT k.principal, k.key, encode(k.request_hash, 'hex') AS "requestHash", k.cancelled_at IS NOT NULL AS cancelled,
         j.id AS "jobId", j.status, coalesce(t.client_id, t.id::text) AS "threadId",
         coalesce(j.message_client_id, j.message_id::text) AS "messageId"
    FROM asked a
    JOIN admission k ON k.workspace_id = $1 AND k.principal = a.principal AND k.key = a.key
    LEFT JOIN job j ON j.workspace_id = k.workspace_id AND j.id = k.job_id
    LEFT JOIN thread t ON t.workspace_id = j.workspace_id AND t.id = j.thread_id),
known_thread AS (
  SELECT a.thread_ref AS ref, a.created_by AS owner, t.id, t.client_id AS "clientId", t.created_by AS "createdBy",
         t.when_busy AS "whenBusy", t.next_position AS "nextPosition", (
           SELECT coalesce(json_agg(json_build_object('id', j.id, 'isDeferred', j.in_line) ORDER BY j.created_at, j.id), '[]') FROM job j
            WHERE j.workspace_id = $1 AND j.thread_id = t.id AND j.status IN ('queued', 'running', 'waiting')
              AND (j.start_at IS NULL OR j.start_at <= clock_timestamp())) AS jobs
    FROM asked_thread a JOIN thread t ON ${isAsked}
   ORDER BY t.id = a.thread_id NULLS FIRST),
taken_message AS (
  SELECT a.job_id FROM asked a JOIN known_thread t ON t.ref = a.thread_ref AND t.owner = a.created_by
   WHERE (SELECT true FROM message m WHERE m.workspace_id = $1 AND m.thread_id = t.id AND m.client_id = a.message LIMIT 1)
      OR (SELECT true FROM job j WHERE j.workspace_id = $1 AND j.thread_id = t.id AND j.message_client_id = a.message
             AND j.status = 'queued' LIMIT 1)),
known_parent AS (
  SELECT c.id AS "callId", j.depth, coalesce(j.root_job_id, j.id) AS "rootJobId",
         j.status IN ('queued', 'running', 'waiting') AND j.cancel_requested_at IS NULL
           AND c.status = 'running' AND c.executor IN ('job', 'worker') AS "isOpen",
         (SELECT count(*)::int FROM job s WHERE s.workspace_id = $1 AND s.parent_job_id = j.id) AS "subJobs"
    FROM asked a
    JOIN job j ON j.workspace_id = $1 AND j.id = a.parent_job_id
    JOIN tool_call c ON c.workspace_id = $1 AND c.job_id = j.id AND c.id = a.parent_call_id)
SELECT json_build_object('maxJobs', s.workspace_cap, 'maxJobsPerUser', s.user_cap, 'whenFull', s.when_full, 'whenBusy', s.when_busy) AS workspace,
       (SELECT json_agg(f) FROM counted f) AS counted,
       ${listOf('capped_agent')} AS agents, ${listOf('known_key')} AS keys, ${listOf('known_thread')} AS threads,
       ${listOf('known_parent')} AS parents, array(SELECT job_id FROM taken_message) AS "takenMessages"
  FROM limits s`;

/** The rows of a clause as a JSON array. */
function listOf(clause: string): string {
  return `(SELECT coalesce(json_agg(f), '[]') FROM ${clause} f)`;
}

/** Reads and writes the tables of a batch of starts of one workspace, inside one transaction that locks the workspace first. */
@Injectable()
export class StartRepository {
  constructor(
    private readonly prisma: PrismaService,
    private readonly postgres: Postgres,
    private readonly config: Config,
  ) {}

  /**
   * Sends the insertion that `toInsertion` returns, an `insertionUnlessKnown`. Returns the inserted jobs: all of them or none. Waits for no
   * lock.
   */
  async insertOptimistically(workspaceId: string, toInsertion: () => Insertion): Promise<readonly InsertedJob[]> {
    const [, accepted = []] = await this.postgres.allInWorkspace(workspaceId, () => {
      const { statement, begins } = toInsertion();
      return [{ ...(begins ? freeCountStatement : freeWorkspaceStatement), values: [workspaceId] }, statement];
    });
    return accepted as unknown as InsertedJob[]; // the statement returns these columns
  }

  /** The end of a transaction that accepts jobs: inserts them and returns the outcome of each. */
  async insert(
    tx: PrismaTransaction,
    workspaceId: string,
    { statement, begins }: Insertion,
  ): Promise<readonly InsertedJob[]> {
    // This lock comes last, because no worker can claim a job of the workspace while this transaction has it.
    if (begins) await tx.$queryRawUnsafe(lockCountSql, workspaceId);
    return tx.$queryRawUnsafe<InsertedJob[]>(statement.text, ...(statement.values ?? []));
  }

  /** Runs `work` in a transaction of the API's database role, bound to the workspace. */
  inWorkspace<T>(workspaceId: string, work: (tx: PrismaTransaction) => Promise<T>): Promise<T> {
    return this.prisma.withWorkspace({ workspaceId }, work);
  }

  /**
   * Locks the workspace, then reads what `admit` needs in one statement, whose snapshot is not older than the locks. Returns null if the
   * workspace does not exist.
   */
  async facts(
    tx: PrismaTransaction,
    workspaceId: string,
    requests: readonly StartRequest[],
  ): Promise<StartFacts | null> {
    const asked = JSON.stringify(requests.map(toAsked));
    const ceilings = ceilingsOf(this.config);
    const stored = storedLimitsOf(this.config);
    const limits = [stored.workspace + maxSuperseded, stored.user + maxSuperseded, ceilings.workspace, ceilings.user];
    for (;;) {
      const [locked] = await tx.$queryRawUnsafe<LockedRow[]>(locksSql, workspaceId, asked);
      const [row] = await tx.$queryRawUnsafe<FactsRow[]>(factsSql, workspaceId, asked, ...limits);
      if (locked === undefined || row === undefined) return null;
      // Another start may have created a thread while this one waited for the workspace; that thread is not locked yet.
      if (row.threads.every(({ id }) => locked.threadIds.includes(id))) return { stored, ...toFacts(row) };
    }
  }

  /** The job or marker of a key; null if the key is unknown. Takes no lock, so it does not see a start in progress. */
  async findKey(workspaceId: string, owned: { principal: string; key: string }): Promise<KnownKey | null> {
    const row = await this.inWorkspace(workspaceId, (tx) =>
      tx.admission.findUnique({
        where: { workspaceId_principal_key: { workspaceId, ...owned } },
        include: { job: { select: { id: true, status: true, messageId: true, messageClientId: true, thread: true } } },
      }),
    );
    if (row === null) return null;
    const { requestHash, cancelledAt, job } = row;
    return {
      requestHash: requestHash === null ? null : Buffer.from(requestHash).toString('hex'),
      cancelled: cancelledAt !== null,
      job: job === null ? null : { jobId: job.id, ...toKnownJob(job) },
    };
  }
}

/** The statement that writes a batch. */
export interface Insertion {
  readonly statement: SqlStatement;
  /** Some jobs are inserted as running, so the statement counts the running jobs. */
  readonly begins: boolean;
}

/** A job that was inserted. */
export interface InsertedJob {
  readonly jobId: string;
  /** True if the job was inserted as claimed by this process; false if it is queued. */
  readonly begun: boolean;
}

interface LockedRow {
  readonly threadIds: readonly string[];
}

interface FactsRow {
  readonly workspace: StartFacts['workspace'];
  readonly counted: readonly (Load & { readonly user: string | null })[];
  readonly agents: readonly (KnownAgent & { readonly id: string })[];
  readonly keys: readonly (AdmissionRow & { readonly principal: string; readonly key: string })[];
  readonly threads: readonly ThreadRow[];
  readonly takenMessages: readonly string[];
  readonly parents: readonly (KnownParent & { readonly callId: string })[];
}

interface AdmissionRow {
  readonly requestHash: string | null;
  readonly cancelled: boolean;
  readonly jobId: string | null;
  readonly status: JobStatus;
  readonly threadId: string | null;
  readonly messageId: string | null;
}

type KnownJobRow = Pick<JobRow, 'status' | 'messageId' | 'messageClientId'> & {
  readonly thread: { readonly id: string; readonly clientId: string | null } | null;
};

interface ThreadRow extends Omit<KnownThread, 'activeJobId' | 'queuedJobIds'> {
  readonly ref: string;
  readonly owner: string | null;
  readonly jobs: readonly { readonly id: string; readonly isDeferred: boolean }[];
}

function toAsked(request: StartRequest) {
  const { jobId, idempotency, thread, createdBy, messageClientId, agentId, parent } = request;
  return {
    job_id: jobId,
    principal: keyOwner(request),
    key: idempotency?.key,
    thread_ref: thread?.ref,
    thread_id: thread !== null && isId(thread.ref) ? thread.ref : null,
    created_by: createdBy,
    message: messageClientId,
    agent_id: agentId,
    parent_job_id: parent?.jobId,
    parent_call_id: parent?.callId,
  };
}

function toFacts({ workspace, counted, ...row }: FactsRow): Omit<StartFacts, 'stored'> {
  const none = { unfinished: 0, active: 0 };
  return {
    workspace,
    total: counted.find(({ user }) => user === null) ?? none,
    load: new Map(counted.flatMap(({ user, ...load }) => (user === null ? [] : [[user, load] as const]))),
    agents: new Map(row.agents.map(({ id, ...agent }) => [id, agent])),
    keys: new Map(row.keys.map((known) => [ownedKey(known.principal, known.key), toKnownKey(known)])),
    threads: new Map(row.threads.map((thread) => [threadKey(thread.owner, thread.ref), toThread(thread)])),
    takenMessages: new Set(row.takenMessages),
    parents: new Map(row.parents.map(({ callId, ...known }) => [callId, known])),
  };
}

function toKnownJob({ status, thread, messageId, messageClientId }: KnownJobRow) {
  if (!isJobStatus(status)) throw new Error(`a job has the status ${status}`);
  return { status, threadId: thread?.clientId ?? thread?.id ?? null, messageId: messageClientId ?? messageId };
}

function toKnownKey({ requestHash, cancelled, jobId, status, threadId, messageId }: AdmissionRow): KnownKey {
  return { requestHash, cancelled, job: jobId === null ? null : { jobId, status, threadId, messageId } };
}

function toThread({ id, clientId, createdBy, whenBusy, nextPosition, jobs }: ThreadRow): KnownThread {
  return {
    ...{ id, clientId, createdBy, whenBusy, nextPosition },
    activeJobId: jobs.find((job) => !job.isDeferred)?.id ?? null,
    queuedJobIds: jobs.filter((job) => job.isDeferred).map((job) => job.id),
  };
}
