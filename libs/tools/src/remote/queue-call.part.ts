import { type CommitPart, type JobRef, type PartRow, partRow } from '#jobs';
import { TOOL_QUEUES } from '#platform';

import { idempotencyKey } from '../ledger/tool-calls.part.js';
import type { ToolSort } from '../tool.js';
import { selectRequestsSql } from './request-message.part.js';

/** A call to send to the tool queue. */
export interface QueuedCall {
  readonly round: number;
  readonly ordinal: number;
  readonly name: string;
  /** The kind of tool; absent: the kind in the ledger, or else a handler of the server. */
  readonly runtime?: ToolSort;
  /** The arguments to run, as JSON text. They contain names of secrets, never their values. */
  readonly arguments: string;
  /** The fingerprint of the offered definition. The process that runs the call rejects another one. */
  readonly toolVersion?: string | null;
  /** The text of the approval request, for readers of the message only. */
  readonly allowEdit?: boolean;
  readonly adminRequired?: boolean;
  /** How many calls of its tool run at once in the workspace. Absent: no limit. */
  readonly concurrency?: number | null;
  /** How long the call may wait until a process claims it, in ms: TOOL_QUEUE_TTL_MS. */
  readonly ttlMs: number;
}

type SentRow = readonly [
  workspaceId: string,
  jobId: string,
  round: number,
  ordinal: number,
  args: string,
  version: string | null,
  concurrency: number | null,
];

/**
 * From this statement on, the call has its own lease, which no process has claimed yet. A call that a worker began under an older epoch is
 * sent only if repeating it is safe: its tool has become isolated since then.
 */
const queuedCalls: CommitPart<SentRow> = {
  name: 'queued_calls',
  columns: [
    ['workspace_id', 'uuid'],
    ['job_id', 'uuid'],
    ['round', 'int'],
    ['ordinal', 'int'],
    ['arguments', 'text'],
    ['tool_version', 'text'],
    ['concurrency', 'int'],
  ],
  sql: (rows) => `UPDATE tool_call t SET status = 'running', executor = 'queue', started_epoch = r.lease_epoch,
      queued_at = clock_timestamp(), started_at = NULL, exec_owner = NULL, exec_until = NULL, exec_attempts = 0,
      cancel_requested_at = NULL, executed_arguments = r.arguments, tool_version = coalesce(r.tool_version, t.tool_version), concurrency = r.concurrency
    FROM ${rows} r
   WHERE t.workspace_id = r.workspace_id AND t.job_id = r.job_id AND t.round = r.round AND t.ordinal = r.ordinal
     AND (t.status = 'pending' OR (t.status = 'awaiting_approval' AND t.approved_at IS NOT NULL)
          OR (t.status = 'running' AND t.effect IN ('pure', 'idempotent') AND t.started_epoch < r.lease_epoch
              AND t.executor = 'worker')) RETURNING 1`,
};

type RequestRow = readonly [
  workspaceId: string,
  jobId: string,
  id: string | null,
  round: number,
  ordinal: number,
  name: string,
  runtime: ToolSort | null,
  args: string,
  key: string,
  allowEdit: boolean,
  adminRequired: boolean,
  ttlMs: number,
  concurrency: number | null,
];

/** The table does not show a call that the same statement inserts, so `id` identifies the call. */
const toolRequests: CommitPart<RequestRow> = {
  name: 'tool_requests',
  queue: TOOL_QUEUES.requests,
  columns: [
    ['workspace_id', 'uuid'],
    ['job_id', 'uuid'],
    ['id', 'uuid'],
    ['round', 'int'],
    ['ordinal', 'int'],
    ['name', 'text'],
    ['runtime', 'text'],
    ['args', 'text'],
    ['key', 'text'],
    ['allow_edit', 'bool'],
    ['admin_required', 'bool'],
    ['ttl', 'int'],
    ['concurrency', 'int'],
  ],
  sql: (rows) =>
    selectRequestsSql(`${rows} r
      JOIN job j ON j.workspace_id = r.workspace_id AND j.id = r.job_id
      LEFT JOIN tool_call t ON t.workspace_id = r.workspace_id AND t.job_id = r.job_id AND t.round = r.round
        AND t.ordinal = r.ordinal
      CROSS JOIN LATERAL (SELECT coalesce(r.id, t.id) AS id, coalesce(t.exec_epoch, 0) AS epoch, 1 AS attempt, r.name,
        coalesce(r.runtime, t.runtime, 'server') AS runtime, r.args,
        r.key, r.allow_edit, r.admin_required, r.ttl, r.concurrency, interval '0' AS delay) c
     WHERE c.id IS NOT NULL`),
};

/**
 * Sends a committed call (`pending`, approved in `awaiting_approval`, or lost by a worker and safe to repeat). It becomes `running` with the
 * executor `queue` in the commit that sends the request. Commit the rows with `commitUnlessCancelled`, then call `ToolQueue.hint`.
 */
export function queueCallRows(job: JobRef, call: QueuedCall): readonly PartRow[] {
  const { round, ordinal, toolVersion = null, concurrency = null } = call;
  const moved = [job.workspaceId, job.jobId, round, ordinal, call.arguments, toolVersion, concurrency] as const;
  return [partRow(queuedCalls, moved), requestRow(job, call, null)];
}

/** Sends a call that the same commit inserts with `newCallRow({ id, status: 'running', executor: 'queue' })`. `id` is the id of that row. */
export function queueNewCallRow(job: JobRef, call: QueuedCall & { readonly id: string }): PartRow {
  return requestRow(job, call, call.id);
}

function requestRow({ workspaceId, jobId }: JobRef, call: QueuedCall, id: string | null): PartRow {
  const {
    round,
    ordinal,
    name,
    runtime = null,
    allowEdit = true,
    adminRequired = false,
    ttlMs,
    concurrency = null,
  } = call;
  const key = idempotencyKey(jobId, round, ordinal);
  const fields = [name, runtime, call.arguments, key, allowEdit, adminRequired, ttlMs, concurrency] as const;
  return partRow(toolRequests, [workspaceId, jobId, id, round, ordinal, ...fields]);
}
