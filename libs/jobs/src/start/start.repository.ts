import { Injectable } from '@nestjs/common';

import { Config, isId, Postgres, PrismaService, type PrismaTransaction, type SqlStatement } from '#platform';

import { countActive, countActiveOfAgent, countUnfinished } from '../capacity/load-statement.js';
import { ceilingsOf, lockCounts, storedLimitsOf } from '../capacity/room-statement.js';
import type { JobStatus } from '../job.lifecycle.js';
import { admissionKey, maxSuperseded, threadKey } from './admit.js';
import type {
  KnownAdmission,
  KnownAgent,
  KnownParent,
  KnownThread,
  Load,
  StartFacts,
  StartRequest,
  WhenBusy,
} from './start-request.js';

interface Statement {
  readonly name: string;
  readonly text: string;
}

const workspaceSql = `SELECT least(max_jobs, $2) AS "maxJobs", least(max_jobs_per_user, $3) AS "maxJobsPerUser", when_full AS "whenFull",
       when_busy AS "whenBusy"
  FROM workspace WHERE id = $1 FOR NO KEY UPDATE`;

/** Takes the same lock if it is free. A transaction setting passes the result to the following statements. */
const freeWorkspaceStatement: Statement = {
  name: 'start-free-workspace',
  text: `SELECT set_config('app.started', s.id::text, true)
  FROM (SELECT id FROM workspace WHERE id = $1 FOR NO KEY UPDATE SKIP LOCKED) AS s`,
};

/** The same, then the lock of the count of running jobs, if that is free too. */
const freeCountStatement: Statement = {
  name: 'start-free-count',
  text: `SELECT set_config('app.started', s.id::text, true), (${lockCounts('SELECT s.id::text')})
  FROM (SELECT id FROM workspace WHERE id = $1 FOR NO KEY UPDATE SKIP LOCKED) AS s`,
};

const lockCountSql = lockCounts('SELECT $1::text');

/**
 * The jobs of the workspace, in the row without a user, and of each user of the batch. Each count stops at its limit; `active` is 0 if the
 * workspace queues starts over its caps, because no decision uses it then.
 */
const loadSql = `WITH s AS (
  SELECT when_full, least(max_jobs, $5) AS workspace_cap, least(max_jobs_per_user, $6) AS user_cap FROM workspace WHERE id = $1)
SELECT NULL::text AS "user", ${countUnfinished({ user: null, limit: '$3' })} AS unfinished,
       CASE s.when_full WHEN 'queue' THEN 0 ELSE ${countActive({ user: null, limit: 's.workspace_cap' })} END AS active
  FROM s
UNION ALL
SELECT u.id::text, ${countUnfinished({ user: 'u.id', limit: '$4' })},
       CASE s.when_full WHEN 'queue' THEN 0 ELSE ${countActive({ user: 'u.id', limit: 's.user_cap' })} END
  FROM s, unnest($2::uuid[]) AS u(id)`;

/** Agents with a cap and their jobs; none where the workspace queues starts over its caps, because no decision uses them there. */
const agentsSql = `SELECT c.id, c.max_running_jobs AS "maxRunningJobs", ${countActiveOfAgent({ agent: 'c.id', limit: 'c.max_running_jobs' })} AS active
  FROM (SELECT DISTINCT w.agent FROM json_to_recordset($2::json) AS w(agent uuid)) AS w
  JOIN agent c ON c.workspace_id = $1 AND c.id = w.agent AND c.max_running_jobs IS NOT NULL
  JOIN workspace s ON s.id = $1 AND s.when_full <> 'queue'`;

const admissionsSql = `SELECT a.principal, a.key, encode(a.request_hash, 'hex') AS "requestHash",
       a.cancelled_at IS NOT NULL AS cancelled, j.id AS "jobId", j.status, coalesce(t.client_id, t.id::text) AS "threadId",
       coalesce(j.message_client_id, j.message_id::text) AS "messageId"
  FROM json_to_recordset($2::json) AS w(principal text, key text)
  JOIN admission a ON a.workspace_id = $1 AND a.principal = w.principal AND a.key = w.key
  LEFT JOIN job j ON j.workspace_id = a.workspace_id AND j.id = a.job_id
  LEFT JOIN thread t ON t.workspace_id = j.workspace_id AND t.id = j.thread_id`;

const threadsSql = `SELECT w.ref, w.owner, t.id, t.client_id AS "clientId", t.created_by AS "createdBy", t.when_busy AS "whenBusy",
       t.next_position AS "nextPosition"
  FROM json_to_recordset($2::json) AS w(ref text, id uuid, owner uuid)
  JOIN thread t ON t.workspace_id = $1 AND (t.id = w.id OR (t.client_id = w.ref AND t.created_by = w.owner))
   ORDER BY t.id = w.id NULLS FIRST FOR NO KEY UPDATE OF t -- our own id wins: of two the last one counts`;

/** A statement of its own after the locks, because its snapshot must not be older than they are. */
const threadJobsSql = `SELECT t.id AS "threadId", j.id, j.in_line AS "inLine"
  FROM json_to_recordset($2::json) AS w(ref text, id uuid, owner uuid)
  JOIN thread t ON t.workspace_id = $1 AND (t.id = w.id OR (t.client_id = w.ref AND t.created_by = w.owner))
  JOIN job j ON j.workspace_id = $1 AND j.thread_id = t.id AND j.status IN ('queued', 'running', 'waiting')
 ORDER BY j.created_at, j.id`;

/** Requests whose message id exists in their thread, as a message or as the message of a queued job. */
const takenSql = `SELECT w.job AS "jobId" FROM json_to_recordset($2::json) AS w(ref text, id uuid, owner uuid, message text, job uuid)
  JOIN thread t ON t.workspace_id = $1 AND (t.id = w.id OR (t.client_id = w.ref AND t.created_by = w.owner))
 WHERE EXISTS (SELECT 1 FROM message m WHERE m.workspace_id = $1 AND m.thread_id = t.id AND m.client_id = w.message)
    OR EXISTS (SELECT 1 FROM job j WHERE j.workspace_id = $1 AND j.thread_id = t.id AND j.message_client_id = w.message
                  AND j.status = 'queued')`;

/** A cancel of a parent, or the end of its call, takes the same lock: no sub-job begins after it. */
const lockParentsSql = `SELECT 1 FROM json_to_recordset($2::json) AS w(job uuid)
  JOIN job j ON j.workspace_id = $1 AND j.id = w.job ORDER BY j.id FOR NO KEY UPDATE OF j`;

const parentsSql = `SELECT t.id AS "callId", j.depth, coalesce(j.root_job_id, j.id) AS "rootJobId",
       j.status IN ('queued', 'running', 'waiting') AND j.cancel_requested_at IS NULL
         AND t.status = 'running' AND t.executor IN ('job', 'worker') AS "isOpen",
       (SELECT count(*)::int FROM job s WHERE s.workspace_id = $1 AND s.parent_job_id = j.id) AS "subJobs"
  FROM json_to_recordset($2::json) AS w(job uuid, call uuid)
  JOIN job j ON j.workspace_id = $1 AND j.id = w.job
  JOIN tool_call t ON t.workspace_id = $1 AND t.job_id = j.id AND t.id = w.call`;

/** The tables behind a batch of starts of one workspace; used inside one transaction that locks the workspace first. */
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
  async insertUnseen(workspaceId: string, toInsertion: () => Insertion): Promise<readonly InsertedJob[]> {
    const [, accepted = []] = await this.postgres.allInWorkspace(workspaceId, () => {
      const { statement, begins, messages } = toInsertion();
      return [
        { ...(begins ? freeCountStatement : freeWorkspaceStatement), values: [workspaceId] },
        statement,
        ...messages,
      ];
    });
    return accepted as unknown as InsertedJob[]; // the columns of the insertion
  }

  /** The end of a transaction that accepts jobs: inserts them and returns the outcome of each. */
  async insert(
    tx: PrismaTransaction,
    workspaceId: string,
    { statement, begins, messages }: Insertion,
  ): Promise<readonly InsertedJob[]> {
    for (const { text, values = [] } of messages) await tx.$executeRawUnsafe(text, ...values);
    // Locked as late as possible: no worker can claim a job of the workspace while this lock is taken.
    if (begins) await tx.$queryRawUnsafe(lockCountSql, workspaceId);
    return tx.$queryRawUnsafe<InsertedJob[]>(statement.text, ...(statement.values ?? []));
  }

  /** Runs `work` in a transaction of the API's database role, bound to the workspace. */
  inWorkspace<T>(workspaceId: string, work: (tx: PrismaTransaction) => Promise<T>): Promise<T> {
    return this.prisma.withWorkspace({ workspaceId }, work);
  }

  /**
   * Locks the workspace, then reads what `admit` needs. Null: no such workspace. Each statement has its own snapshot, and
   * their order matters: a read that depends on a lock comes after it.
   */
  async facts(
    tx: PrismaTransaction,
    workspaceId: string,
    requests: readonly StartRequest[],
  ): Promise<StartFacts | null> {
    const keys = requests.flatMap(({ principal, idempotency }) =>
      idempotency === null ? [] : [{ principal, key: idempotency.key }],
    );
    // Each thread once: a job that is read twice would count twice in its queue.
    const targets = requests.flatMap(({ thread, createdBy: owner, messageClientId: message, jobId: job }) =>
      thread === null ? [] : [{ ref: thread.ref, id: uuidOf(thread.ref), owner, message, job }],
    );
    const refs = [
      ...new Map(targets.map(({ ref, id, owner }) => [threadKey(owner, ref), { ref, id, owner }])).values(),
    ];
    const named = targets.filter(({ message }) => message !== null);
    const calls = requests.flatMap(({ parent }) =>
      parent === undefined ? [] : [{ job: parent.jobId, call: parent.callId }],
    );
    const agents = requests.flatMap(({ agentId }) => (agentId === undefined ? [] : [{ agent: agentId }]));
    const read = async <Row extends object>(sql: string, wanted: readonly object[]): Promise<Row[]> =>
      wanted.length === 0 ? [] : tx.$queryRawUnsafe<Row[]>(sql, workspaceId, JSON.stringify(wanted));
    const ceilings = ceilingsOf(this.config);
    const stored = storedLimitsOf(this.config);
    const users = [...new Set(requests.flatMap(({ createdBy }) => createdBy ?? []))];
    const limits = [stored.workspace + maxSuperseded, stored.user + maxSuperseded, ceilings.workspace, ceilings.user];
    const [found] = await tx.$queryRawUnsafe<StartFacts['workspace'][]>(
      workspaceSql,
      ...[workspaceId, ceilings.workspace, ceilings.user],
    );
    const admissions = await read<AdmissionRow>(admissionsSql, keys);
    const threads = await read<ThreadRow>(threadsSql, refs);
    const jobs = await read<ThreadJobRow>(threadJobsSql, refs);
    const taken = await read<{ jobId: string }>(takenSql, named);
    const load = await tx.$queryRawUnsafe<LoadRow[]>(loadSql, workspaceId, users, ...limits);
    const capped = await read<KnownAgent & { id: string }>(agentsSql, agents);
    await read(lockParentsSql, calls);
    const parents = await read<KnownParent & { callId: string }>(parentsSql, calls);
    if (found === undefined) return null;
    return {
      workspace: found,
      stored,
      ...toLoad(load),
      agents: new Map(capped.map(({ id, ...agent }) => [id, agent])),
      admissions: new Map(admissions.map((row) => [admissionKey(row.principal, row.key), toAdmission(row)])),
      threads: new Map(threads.map((row) => [threadKey(row.owner, row.ref), toThread(row, jobs)])),
      takenMessages: new Set(taken.map(({ jobId }) => jobId)),
      parents: new Map(parents.map(({ callId, ...known }) => [callId, known])),
    };
  }

  /** What a key refers to; null: it is unknown. Takes no lock, so it does not see a start in progress. */
  async admission(workspaceId: string, admission: { principal: string; key: string }): Promise<KnownAdmission | null> {
    const [row] = await this.inWorkspace(workspaceId, (tx) =>
      tx.$queryRawUnsafe<AdmissionRow[]>(admissionsSql, workspaceId, JSON.stringify([admission])),
    );
    return row === undefined ? null : toAdmission(row);
  }
}

/** The statement that writes a batch. */
export interface Insertion {
  readonly statement: SqlStatement;
  /** Some of its jobs begin with it, so it counts the running jobs. */
  readonly begins: boolean;
  /** The statements that send the queue messages of the others. If nothing is inserted, the messages name jobs that cannot be claimed. */
  readonly messages: readonly SqlStatement[];
}

/** A job that was inserted. */
export interface InsertedJob {
  readonly jobId: string;
  /** It was inserted as claimed by this process; otherwise it is queued. */
  readonly begun: boolean;
}

interface AdmissionRow {
  readonly principal: string;
  readonly key: string;
  readonly requestHash: string | null;
  readonly cancelled: boolean;
  readonly jobId: string | null;
  readonly status: JobStatus;
  readonly threadId: string | null;
  readonly messageId: string | null;
}

interface LoadRow extends Load {
  readonly user: string | null;
}

interface ThreadRow {
  readonly ref: string;
  readonly owner: string | null;
  readonly id: string;
  readonly clientId: string | null;
  readonly createdBy: string;
  readonly whenBusy: WhenBusy | null;
  readonly nextPosition: number;
}

interface ThreadJobRow {
  readonly threadId: string;
  readonly id: string;
  readonly inLine: boolean;
}

function uuidOf(ref: string): string | null {
  return isId(ref) ? ref : null;
}

function toLoad(rows: readonly LoadRow[]): Pick<StartFacts, 'total' | 'load'> {
  const load = new Map(rows.map(({ user, unfinished, active }) => [user ?? '', { unfinished, active }]));
  const total = load.get('') ?? { unfinished: 0, active: 0 };
  load.delete('');
  return { total, load };
}

function toAdmission(row: AdmissionRow): KnownAdmission {
  const { requestHash, cancelled, jobId, status, threadId, messageId } = row;
  return { requestHash, cancelled, job: jobId === null ? null : { jobId, status, threadId, messageId } };
}

function toThread(row: ThreadRow, jobs: readonly ThreadJobRow[]): KnownThread {
  const { id, clientId, createdBy, whenBusy, nextPosition } = row;
  const own = jobs.filter((job) => job.threadId === id);
  return {
    id,
    clientId,
    createdBy,
    whenBusy,
    nextPosition,
    activeJobId: own.find((job) => !job.inLine)?.id ?? null,
    queuedJobIds: own.filter((job) => job.inLine).map((job) => job.id),
  };
}
