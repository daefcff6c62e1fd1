import { Injectable } from '@nestjs/common';

import { Config, hasEnded, Postgres, QUEUE_SCHEMA, TOOL_QUEUES } from '#platform';

import { CANCEL_GRACE_MS } from './queue-state.repository.js';
import { requestId } from './request-message.repository.js';

/** A call of the isolated queue that needs handling. */
export interface DueCall {
  readonly workspaceId: string;
  readonly jobId: string;
  readonly id: string;
}

const found = `t.workspace_id AS "workspaceId", t.job_id AS "jobId", t.id FROM tool_call t
   WHERE t.status = 'running' AND t.executor = 'queue'`;

/**
 * Four sorts: claim expired (unless its response is in the queue already), time to stop is over, not claimed by any worker
 * in time, and impossible to claim because the request is lost. All are in the index of running queue calls.
 */
const dueSql = `(SELECT ${found} AND t.exec_until < clock_timestamp() AND t.cancel_requested_at IS NULL
    AND NOT EXISTS (SELECT 1 FROM ${QUEUE_SCHEMA}.job m WHERE m.name = '${TOOL_QUEUES.results}' AND m.state < 'active'
      AND m.data->>'type' = 'tool_response' AND m.data->>'correlation_id' = t.id::text)
   ORDER BY t.exec_until LIMIT $1)
 UNION ALL
 (SELECT ${found} AND t.cancel_requested_at < clock_timestamp() - ${CANCEL_GRACE_MS} * interval '1 ms' LIMIT $1)
 UNION ALL
 (SELECT ${found} AND t.exec_until IS NULL AND t.queued_at < clock_timestamp() - $3::int * interval '1 ms' LIMIT $1)
 UNION ALL
 (SELECT ${found} AND t.exec_until IS NULL AND t.cancel_requested_at IS NULL
    AND t.queued_at BETWEEN clock_timestamp() - $3::int * interval '1 ms' AND clock_timestamp() - $2::int * interval '1 ms'
    AND NOT EXISTS (SELECT 1 FROM ${QUEUE_SCHEMA}.job m WHERE m.name = '${TOOL_QUEUES.requests}'
      AND m.id = ${requestId('t.id', 't.exec_epoch')} AND m.state < 'active') LIMIT $1)`;

const heldSql = `t.status = 'running' AND t.executor = 'queue' AND t.exec_until > clock_timestamp()`;

/** Locked in the order in which claims are renewed. */
const endSql = `WITH lost AS (
  SELECT t.workspace_id, t.id FROM tool_call t WHERE ${heldSql} AND t.exec_owner = ANY($1)
   ORDER BY t.workspace_id, t.id FOR NO KEY UPDATE OF t)
UPDATE tool_call t SET exec_until = clock_timestamp() - interval '1 ms' FROM lost l
 WHERE t.workspace_id = l.workspace_id AND t.id = l.id`;

/** Finds what the queue has forgotten, in any workspace, as the engine's role. */
@Injectable()
export class DueCallsRepository {
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

  /** Up to `limit` of each sort. A request counts as lost only after a lease: a worker may just be claiming it. */
  async find(limit: number): Promise<DueCall[]> {
    const { LEASE_MS, TOOL_QUEUE_TTL_MS } = this.config.values;
    const { rows } = await this.postgres.engine.query<DueCall>(dueSql, [limit, LEASE_MS, TOOL_QUEUE_TTL_MS]);
    return rows;
  }
}
