import { Injectable } from '@nestjs/common';

import { Config, hasEnded, Postgres } from '#platform';

import { CANCEL_GRACE_MS } from './queue-state.repository.js';

/** A call of the isolated queue that needs handling. */
export interface DueCall {
  readonly workspaceId: string;
  readonly jobId: string;
  readonly id: string;
}

/** The ledger's record of the call that a dead letter is about. */
export interface LetterCall {
  readonly id: string;
  readonly jobId: string;
  readonly callId: string;
  readonly name: string;
  readonly status: string;
  /** Nothing but another request is missing for it to run. */
  readonly canRedrive: boolean;
}

const callsSql = `SELECT id, job_id AS "jobId", call_id AS "callId", name, status,
    status = 'running' AND executor = 'queue' AND cancel_requested_at IS NULL
      AND (exec_until IS NULL OR (effect IN ('pure', 'idempotent') AND exec_until < clock_timestamp())) AS "canRedrive"
  FROM tool_call WHERE workspace_id = $1 AND id = ANY($2::uuid[])`;

const found = `t.workspace_id AS "workspaceId", t.job_id AS "jobId", t.id FROM tool_call t
   WHERE t.status = 'running' AND t.executor = 'queue'`;

/** Three sorts: claim expired, time to stop is over, not claimed by any worker in time. All are in the index of running queue calls. */
const dueSql = `(SELECT ${found} AND t.exec_until < clock_timestamp() AND t.cancel_requested_at IS NULL
   ORDER BY t.exec_until LIMIT $1)
 UNION ALL
 (SELECT ${found} AND t.cancel_requested_at < clock_timestamp() - ${CANCEL_GRACE_MS} * interval '1 ms' LIMIT $1)
 UNION ALL
 (SELECT ${found} AND t.exec_until IS NULL AND t.queued_at < clock_timestamp() - $2::int * interval '1 ms' LIMIT $1)`;

const waitingSql = `SELECT ${found} AND t.exec_until IS NULL AND t.cancel_requested_at IS NULL AND t.id > $4
    AND t.queued_at BETWEEN clock_timestamp() - $3::int * interval '1 ms' AND clock_timestamp() - $2::int * interval '1 ms'
  ORDER BY t.id LIMIT $1`;

const heldSql = `t.status = 'running' AND t.executor = 'queue' AND t.exec_until > clock_timestamp()`;

/** Locked in the order in which claims are renewed. */
const endSql = `WITH lost AS (
  SELECT t.workspace_id, t.id FROM tool_call t WHERE ${heldSql} AND t.exec_owner = ANY($1)
   ORDER BY t.workspace_id, t.id FOR NO KEY UPDATE OF t)
UPDATE tool_call t SET exec_until = clock_timestamp() - interval '1 ms' FROM lost l
 WHERE t.workspace_id = l.workspace_id AND t.id = l.id`;

/** Calls of the isolated queue as the ledger has them: of any workspace as the engine's role, of one as that workspace. */
@Injectable()
export class QueuedCallsRepository {
  constructor(
    private readonly postgres: Postgres,
    private readonly config: Config,
  ) {}

  /** Lets the claims of processes that have surely ended run out at once; all others run out by themselves. */
  async endLostClaims(): Promise<void> {
    const { rows } = await this.postgres.engine.query<{ owner: string }>({
      name: 'claim-holders',
      text: `SELECT DISTINCT t.exec_owner AS owner FROM tool_call t WHERE ${heldSql} AND t.exec_owner IS NOT NULL`,
    });
    const lost = rows.map(({ owner }) => owner).filter(hasEnded);
    if (lost.length > 0) await this.postgres.engine.query({ name: 'end-claims', text: endSql, values: [lost] });
  }

  /** Up to `limit` of each sort. */
  async due(limit: number): Promise<DueCall[]> {
    const { rows } = await this.postgres.engine.query<DueCall>(dueSql, [limit, this.config.values.TOOL_QUEUE_TTL_MS]);
    return rows;
  }

  /** Calls with an id after `after` that have waited for a lease: their requests may be lost. Before it, a worker may be claiming them. */
  async waiting(limit: number, after: string): Promise<DueCall[]> {
    const { LEASE_MS, TOOL_QUEUE_TTL_MS } = this.config.values;
    const values = [limit, LEASE_MS, TOOL_QUEUE_TTL_MS, after];
    const { rows } = await this.postgres.engine.query<DueCall>(waitingSql, values);
    return rows;
  }

  /** For metrics: calls that wait for a worker, and how long the oldest has, ms. */
  async depth(): Promise<{ readonly waiting: number; readonly oldestMs: number }> {
    const { rows } = await this.postgres.engine.query<{ waiting: number; oldestMs: number }>(
      `SELECT count(*)::int AS waiting,
              coalesce(extract(epoch FROM clock_timestamp() - min(queued_at)) * 1000, 0)::float8 AS "oldestMs"
         FROM tool_call WHERE status = 'running' AND executor = 'queue' AND exec_until IS NULL`,
    );
    return rows[0] ?? { waiting: 0, oldestMs: 0 };
  }

  /** The calls of the workspace among these, by their ids. */
  async calls(workspaceId: string, ids: readonly string[]): Promise<ReadonlyMap<string, LetterCall>> {
    const rows = await this.postgres.readInWorkspace<LetterCall>(workspaceId, {
      name: 'letter-calls',
      text: callsSql,
      values: [workspaceId, ids],
    });
    return new Map(rows.map((call) => [call.id, call]));
  }

  /** Whose job a call belongs to, as its workspace; null: no such call. */
  async jobOf(workspaceId: string, id: string): Promise<{ jobId: string; createdBy: string | null } | null> {
    const [row] = await this.postgres.readInWorkspace<{ jobId: string; createdBy: string | null }>(workspaceId, {
      name: 'job-of-call',
      text: `SELECT job_id AS "jobId", created_by AS "createdBy" FROM tool_call WHERE workspace_id = $1 AND id = $2`,
      values: [workspaceId, id],
    });
    return row ?? null;
  }
}
