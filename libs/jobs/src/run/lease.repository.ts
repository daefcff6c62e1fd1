import { Injectable } from '@nestjs/common';

import { Config, Postgres, PrismaService } from '#platform';

import {
  capacityClauses,
  type CeilingParameters,
  ceilingsOf,
  holderOf,
  type InstallationLimits,
  isCountable,
  lockCounts,
  nextClauses,
  waitingWorkspaces,
} from '../capacity/capacity-statement.js';
import { isDue, type JobFailure, jobFormat, type JobRef } from '../job.js';
import type { JobLabels } from '../job-labels.js';
import { unknownOutcome } from '../unknown-outcome.js';

/** A job that this worker has claimed. Contains everything that a handler needs to begin, so no second read is necessary. */
export interface ClaimedJob {
  readonly workspaceId: string;
  readonly jobId: string;
  readonly kind: string;
  /** Format of the stored data; each kind of job numbers its own formats. */
  readonly format: number;
  readonly epoch: number;
  /** The job was accepted for a later instant, which has come. */
  readonly isDelayed?: boolean;
  /** Claims since the last committed progress, this one included. */
  readonly attempts: number;
  readonly threadId: string | null;
  readonly messageId: string | null;
  /** For a sub-job: the job whose tool call started it. */
  readonly parentJobId: string | null;
  /** The workflow that a workflow job runs. */
  readonly workflowId: string | null;
  readonly workflowVersion: number | null;
  readonly createdBy: string | null;
  /** The agent whose cap on running jobs counts this job. */
  readonly agentId: string | null;
  readonly principal: string;
  readonly model: string;
  readonly labels: JobLabels;
  readonly input: unknown;
  readonly keyCipher: Uint8Array | null;
  readonly restarts: number;
  readonly rounds: number;
  readonly toolCalls: number;
  readonly promptTokens: number;
  readonly completionTokens: number;
  readonly contentLength: number;
  readonly lastSeq: number;
  readonly cancelRequested: boolean;
  /** The worker whose lease expired; null if the job was queued. */
  readonly previousOwner: string | null;
  /** Number of changes to the job without its lease that concern its worker: decisions, results, expiries and appended events. */
  readonly externalUpdates: number;
  readonly reason: string | null;
  /** Running time left, ms. */
  readonly remainingMs: number;
  /** When the job was accepted, ms since the epoch; for the queue-wait metric. */
  readonly createdAt: number;
  readonly waitedMs: number;
  /** Calls that were running at this claim and whose outcome is unknown; null if there are none. */
  readonly interrupted: readonly { readonly round: number; readonly ordinal: number }[] | null;
  /** Error of an earlier attempt, if one was stored. */
  readonly lastError: JobFailure | null;
}

/** The result of a claim. */
export interface Claim {
  readonly claimed: readonly ClaimedJob[];
  /** Another process is counting the running jobs of their workspaces: claim them again a few milliseconds later. */
  readonly deferred: readonly JobRef[];
}

/** The renewed lease and the state of its job. */
export interface Renewed {
  readonly cancelRequested: boolean;
  /** Number of changes from outside the lease. */
  readonly externalUpdates: number;
  /** The reason of the cancel. */
  readonly reason: string | null;
  /** The job's deadline has passed. */
  readonly late: boolean;
}

/** A queued job, or a running one whose lease has expired. */
const isClaimable = `j.format <= $2 AND NOT j.in_line
     AND ((j.status = 'queued' AND ${isDue('j')}) OR (j.status = 'running' AND j.lease_until < clock_timestamp()))`;

const wanted = `json_to_recordset($1::json) AS w("workspaceId" uuid, "jobId" uuid)
    JOIN job j ON j.workspace_id = w."workspaceId" AND j.id = w."jobId"`;

/** The queued jobs named in $1 that fit under the caps of their workspace, user and agent. */
const roomOf = (isAsked: string, ceilings: CeilingParameters) => `asked AS (
  SELECT j.workspace_id, j.id, ${holderOf('j')} AS holder, j.agent_id, j.created_at FROM ${wanted}
   WHERE j.format <= $2 AND NOT j.in_line AND j.status = 'queued' AND ${isDue('j')} AND ${isAsked}),
${capacityClauses(ceilings)}`;

const lockSql = lockCounts(`SELECT w."workspaceId" FROM json_to_recordset($1::json) AS w("workspaceId" text)`);

/** A job whose lease expired is running already: it needs no capacity. */
const claimSql = `WITH ${roomOf(isCountable('j.workspace_id'), { workspace: '$7', user: '$8' })},
free AS (
  SELECT j.workspace_id, j.id, j.lease_owner FROM ${wanted}
   WHERE ${isClaimable} AND (j.status = 'running' OR (j.workspace_id, j.id) IN (SELECT workspace_id, id FROM room))
   ORDER BY j.workspace_id, j.id FOR NO KEY UPDATE OF j SKIP LOCKED),
claimed AS (
  UPDATE job j SET
      lease_epoch = j.lease_epoch + 1, lease_owner = $3, lease_writes = 0, attempts = j.attempts + 1, status = 'running',
      lease_until = clock_timestamp() + $4::int * interval '1 ms', last_seq = j.last_seq + 1,
      started_at = coalesce(j.started_at, clock_timestamp()),
      deadline_at = clock_timestamp() + CASE WHEN j.status = 'queued' THEN greatest($5::int - j.worked_ms, 0) * interval '1 ms'
        ELSE greatest(j.deadline_at - j.lease_until, interval '0') END
    FROM free f WHERE j.workspace_id = f.workspace_id AND j.id = f.id
  RETURNING j.*),
took AS (
  UPDATE tool_call t SET status = 'interrupted', error = $6, finished_at = clock_timestamp() FROM claimed c
   WHERE c.lease_epoch > 1 AND t.workspace_id = c.workspace_id AND t.job_id = c.id AND t.status = 'running'
     AND t.effect = 'once' AND t.started_epoch < c.lease_epoch AND t.executor = 'worker' RETURNING t.job_id, t.round, t.ordinal),
logged AS (
  INSERT INTO job_event (workspace_id, job_id, seq, epoch, attempt, type, body, at)
  SELECT workspace_id, id, last_seq, lease_epoch, restarts, 'job-started', json_build_object('epoch', lease_epoch),
         clock_timestamp() FROM claimed)
SELECT workspace_id AS "workspaceId", id AS "jobId", kind, format, lease_epoch AS epoch, attempts, thread_id AS "threadId",
       message_id AS "messageId", parent_job_id AS "parentJobId", workflow_id AS "workflowId", workflow_version AS "workflowVersion", created_by AS "createdBy", agent_id AS "agentId", principal, model, labels, input, key_cipher AS "keyCipher", restarts,
       start_at IS NOT NULL AS "isDelayed",
       rounds, tool_calls AS "toolCalls", prompt_tokens AS "promptTokens", completion_tokens AS "completionTokens",
       content_length AS "contentLength", last_seq AS "lastSeq", cancel_requested_at IS NOT NULL AS "cancelRequested", answered AS "externalUpdates", reason, error AS "lastError",
       (SELECT f.lease_owner FROM free f WHERE f.id = claimed.id) AS "previousOwner",
       (extract(epoch FROM deadline_at - clock_timestamp()) * 1000)::int AS "remainingMs",
       (extract(epoch FROM created_at) * 1000)::float8 AS "createdAt",
       (extract(epoch FROM clock_timestamp() - greatest(created_at, start_at)) * 1000)::int AS "waitedMs",
       (SELECT json_agg(json_build_object('round', t.round, 'ordinal', t.ordinal)) FROM took t WHERE t.job_id = claimed.id)
         AS interrupted
  FROM claimed`;

const renewSql = `UPDATE job j SET lease_until = clock_timestamp() + $2::int * interval '1 ms'
  FROM json_to_recordset($1::json) AS w("workspaceId" uuid, "jobId" uuid, epoch int)
 WHERE j.workspace_id = w."workspaceId" AND j.id = w."jobId" AND j.lease_epoch = w.epoch AND j.status = 'running'
RETURNING j.id AS "jobId", j.cancel_requested_at IS NOT NULL AS "cancelRequested", j.answered AS "externalUpdates", j.reason, j.deadline_at < clock_timestamp() AS late`;

/** Fair: the first runnable job of each workspace, before the second of any; the same for the users of a workspace. */
const runnableSql = `${nextClauses({ workspaces: waitingWorkspaces, minAgeMs: '$3', format: '$1', ceilings: { workspace: '$4', user: '$5' } })}
SELECT workspace_id AS "workspaceId", id AS "jobId", kind FROM (
  SELECT n.workspace_id, n.id, n.kind, n.created_at, r.place FROM next n JOIN room r ON r.workspace_id = n.workspace_id AND r.id = n.id
  UNION ALL
  SELECT workspace_id, id, kind, created_at, 0 FROM job
   WHERE status = 'running' AND lease_until < clock_timestamp() AND format <= $1) AS runnable
 ORDER BY place, created_at LIMIT $2`;

/** Claims, renewals and the search for work, as the workers' role. Zero rows is a valid result, not an error. */
@Injectable()
export class LeaseRepository {
  constructor(
    private readonly postgres: Postgres,
    private readonly prisma: PrismaService,
    private readonly config: Config,
  ) {}

  /**
   * Claims the claimable jobs of `refs`: new epoch, `running`, event `job-started`; every `once` call that an older epoch left running becomes
   * `interrupted`. All in one statement. Skips a queued job if its workspace, user or agent has reached a cap, and a job whose row is locked:
   * another worker may be claiming it, or a decision is being stored (`findClaimable`). Never waits for a lock.
   */
  async claim(refs: readonly JobRef[], owner: string): Promise<Claim> {
    const { LEASE_MS, JOB_TIMEOUT_MS } = this.config.values;
    const { workspace, user } = this.ceilings;
    const wanted = JSON.stringify(refs);
    const outcome = JSON.stringify(unknownOutcome);
    const [locks = [], claimed = []] = await this.postgres.allAsWorker([
      { name: 'claim-lock', text: lockSql, values: [wanted] },
      {
        name: 'claim',
        text: claimSql,
        values: [wanted, jobFormat, owner, LEASE_MS, JOB_TIMEOUT_MS, outcome, workspace, user],
      },
    ]);
    const locked = new Set((locks as { locked: string }[]).flatMap((row) => row.locked.split(',')));
    const taken = new Set((claimed as ClaimedJob[]).map(({ jobId }) => jobId));
    const deferred = refs.filter(({ workspaceId, jobId }) => !locked.has(workspaceId) && !taken.has(jobId));
    return { claimed: claimed as ClaimedJob[], deferred };
  }

  /** The jobs of `refs` that may be claimed according to committed data. Locks nothing and waits for no lock. */
  findClaimable(refs: readonly JobRef[]): Promise<JobRef[]> {
    const { workspace, user } = this.ceilings;
    const sql = `WITH ${roomOf('true', { workspace: '$3', user: '$4' })}
        SELECT j.workspace_id AS "workspaceId", j.id AS "jobId" FROM ${wanted}
         WHERE ${isClaimable} AND (j.status = 'running' OR (j.workspace_id, j.id) IN (SELECT workspace_id, id FROM room))`;
    const values = [JSON.stringify(refs), jobFormat, workspace, user];
    return this.prisma.asWorker((client) => client.$queryRawUnsafe<JobRef[]>(sql, ...values));
  }

  /** Extends the leases that this process still owns; a job missing from the result is lost. Uses the reserved connection. */
  async renew(leases: readonly (JobRef & { readonly epoch: number })[]): Promise<Map<string, Renewed>> {
    const { rows } = await this.postgres.reserved.query<Renewed & { readonly jobId: string }>({
      name: 'renew',
      text: renewSql,
      values: [JSON.stringify(leases), this.config.values.LEASE_MS],
    });
    return new Map(rows.map(({ jobId, ...renewed }) => [jobId, renewed]));
  }

  /** The number of answers of each of these jobs of a workspace. Renews nothing. */
  async countAnswers(workspaceId: string, jobIds: readonly string[]): Promise<Map<string, number>> {
    const rows = await this.prisma.asWorker(
      (client) => client.$queryRaw<{ jobId: string; answered: number }[]>`
        SELECT id AS "jobId", answered FROM job WHERE workspace_id = ${workspaceId}::uuid AND id = ANY(${[...jobIds]}::uuid[])`,
    );
    return new Map(rows.map(({ jobId, answered }) => [jobId, answered]));
  }

  /**
   * Up to `limit` claimable jobs that fit under the caps, fair between workspaces and between the users of one; queued jobs only if older than
   * `minAgeMs`.
   */
  findRunnable(limit: number, minAgeMs: number): Promise<(JobRef & { readonly kind: string })[]> {
    const values = [jobFormat, limit, minAgeMs, this.ceilings.workspace, this.ceilings.user];
    return this.prisma.asWorker((client) =>
      client.$queryRawUnsafe<(JobRef & { readonly kind: string })[]>(runnableSql, ...values),
    );
  }

  private get ceilings(): InstallationLimits {
    return ceilingsOf(this.config);
  }

  /** Unfinished jobs of all workspaces, by status. */
  countUnfinished(): Promise<{ readonly status: string; readonly jobs: number }[]> {
    return this.prisma.asWorker(
      (client) => client.$queryRaw<{ status: string; jobs: number }[]>`
        SELECT status, count(*)::int AS jobs FROM job WHERE status IN ('queued', 'running', 'waiting') GROUP BY status`,
    );
  }
}
