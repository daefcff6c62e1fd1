import { type CommitPart, type JobRef, type PartRow, partRow, subJobsDue } from '#jobs';
import { newId, systemClock } from '#platform';

import { argumentContents } from '../history/argument-content.js';
import type { PlannedCall } from '../plan-calls.js';
import type { ToolSort } from '../tool.js';
import type { Approval, CallExecutor, Settlement, ToolCallStatus, ToolFailure } from '../tool-call.js';

const openStatuses = `'pending', 'awaiting_approval', 'awaiting_client', 'running'`;

type NewRow = readonly [
  workspaceId: string,
  jobId: string,
  id: string,
  round: number,
  ordinal: number,
  callId: string,
  name: string,
  args: string,
  effect: string,
  status: string,
  result: string | null,
  error: object | null,
  ranMs: number | null,
  runtime: ToolSort,
  resultBytes: number | null,
  executor: string,
  approval: string | null,
  grantId: string | null,
  toolVersion: string | null,
  concurrency: number | null,
  contents: readonly string[],
];

const newCalls: CommitPart<NewRow> = {
  name: 'new_calls',
  columns: [
    ['workspace_id', 'uuid'],
    ['job_id', 'uuid'],
    ['id', 'uuid'],
    ['round', 'int'],
    ['ordinal', 'int'],
    ['call_id', 'text'],
    ['name', 'text'],
    ['arguments', 'text'],
    ['effect', 'text'],
    ['status', 'text'],
    ['result', 'text'],
    ['error', 'jsonb'],
    ['ran_ms', 'int'],
    ['runtime', 'text'],
    ['result_bytes', 'int'],
    ['executor', 'text'],
    ['approval', 'text'],
    ['grant_id', 'uuid'],
    ['tool_version', 'text'],
    ['concurrency', 'int'],
    ['contents', 'text[]'],
  ],
  sql: (
    rows,
  ) => `INSERT INTO tool_call (workspace_id, job_id, id, round, ordinal, call_id, name, arguments, effect, status, result,
    error, idem_key, started_epoch, created_at, started_at, finished_at, thread_id, created_by, runtime, duration_ms, result_bytes,
    executor, approval, grant_id, tool_version, concurrency, queued_at, exec_attempts, argument_keys)
  SELECT r.workspace_id, r.job_id, r.id, r.round, r.ordinal, r.call_id, r.name, r.arguments, r.effect, r.status, r.result,
    r.error, r.job_id || ':' || r.round || ':' || r.ordinal,
    CASE WHEN r.status = 'running' OR r.ran_ms IS NOT NULL THEN r.lease_epoch END, clock_timestamp(),
    CASE WHEN (r.status = 'running' AND r.executor IN ('worker', 'job')) OR r.ran_ms IS NOT NULL
      THEN clock_timestamp() - coalesce(r.ran_ms, 0) * interval '1 ms' END,
    CASE WHEN r.status NOT IN ('pending', 'awaiting_approval', 'awaiting_client', 'running') THEN clock_timestamp() END,
    up.thread_id, up.created_by, r.runtime, r.ran_ms, coalesce(r.result_bytes, octet_length(r.result)), r.executor, r.approval,
    r.grant_id, r.tool_version, r.concurrency, CASE WHEN r.executor = 'queue' THEN clock_timestamp() END,
    CASE WHEN r.status = 'running' AND r.executor = 'worker' THEN 1 ELSE 0 END,
    nullif(ARRAY(SELECT tool_call_key(s.seed, c) FROM (SELECT tool_call_seed(r.workspace_id, tool_call_day(r.id)) AS seed OFFSET 0) AS s
      CROSS JOIN unnest(r.contents) AS c), '{}')
    FROM ${rows} r JOIN up ON up.workspace_id = r.workspace_id AND up.id = r.job_id RETURNING 1`,
};

type CallKey = readonly [workspaceId: string, jobId: string, round: number, ordinal: number];

type StartedRow = readonly [...CallKey, executor: string];

/** A call of an older epoch may be started again only if repeating it is safe. */
const startedCalls: CommitPart<StartedRow> = {
  name: 'started_calls',
  columns: [
    ['workspace_id', 'uuid'],
    ['job_id', 'uuid'],
    ['round', 'int'],
    ['ordinal', 'int'],
    ['executor', 'text'],
  ],
  sql: (
    rows,
  ) => `UPDATE tool_call t SET status = 'running', started_epoch = r.lease_epoch, started_at = clock_timestamp(),
      executed_arguments = t.approved_arguments, executor = r.executor, exec_attempts = t.exec_attempts + 1
    FROM ${rows} r
   WHERE t.workspace_id = r.workspace_id AND t.job_id = r.job_id AND t.round = r.round AND t.ordinal = r.ordinal
     AND (t.status = 'pending' OR (t.status = 'awaiting_approval' AND t.approved_at IS NOT NULL)
          OR (t.status = 'running' AND t.effect IN ('pure', 'idempotent') AND t.started_epoch < r.lease_epoch)) RETURNING 1`,
};

type SettledRow = readonly [
  ...CallKey,
  status: string,
  result: string | null,
  error: object | null,
  resultBytes: number | null,
  approval: Approval | null,
];

const settledCalls: CommitPart<SettledRow> = {
  name: 'settled_calls',
  columns: [
    ['workspace_id', 'uuid'],
    ['job_id', 'uuid'],
    ['round', 'int'],
    ['ordinal', 'int'],
    ['status', 'text'],
    ['result', 'text'],
    ['error', 'jsonb'],
    ['result_bytes', 'int'],
    ['approval', 'text'],
  ],
  sql: (
    rows,
  ) => `UPDATE tool_call t SET status = r.status, result = r.result, error = r.error, finished_at = clock_timestamp(),
      approval = coalesce(r.approval, t.approval),
      duration_ms = CASE WHEN t.started_at IS NOT NULL
        THEN least(extract(epoch FROM clock_timestamp() - t.started_at) * 1000, 2147483647)::int END,
      result_bytes = coalesce(r.result_bytes, octet_length(r.result))
    FROM ${rows} r
   WHERE t.workspace_id = r.workspace_id AND t.job_id = r.job_id AND t.round = r.round AND t.ordinal = r.ordinal
     AND t.status IN (${openStatuses}) RETURNING 1`,
};

/** The idempotency key of a call. It is sent with every effect and is the same for every attempt. */
export function idempotencyKey(jobId: string, round: number, ordinal: number): string {
  return `${jobId}:${round}:${ordinal}`;
}

/** A call to insert into the ledger with its round. */
export interface NewCall extends Pick<PlannedCall, 'ordinal' | 'callId' | 'name' | 'arguments' | 'effect'> {
  readonly status: ToolCallStatus;
  /** The durable text of a call that has already completed. */
  readonly result: string | null;
  readonly error: ToolFailure | null;
  /** How long it ran, in ms; null: it did not run, or not yet. */
  readonly ranMs: number | null;
  /** Where the tool runs. Absent: in a handler of this server. */
  readonly runtime?: ToolSort;
  /** Size of the complete result in UTF-8 bytes, if `result` is truncated. */
  readonly resultBytes?: number;
  /** The row's id, if other rows of the same commit refer to it. */
  readonly id?: string;
  /** Default `worker`. */
  readonly executor?: CallExecutor;
  /** How the call was approved or denied; absent: no call of its round needed approval. */
  readonly approval?: Approval | null;
  readonly grantId?: string | null;
  /** The fingerprint of the offered tool. Absent: no tool was offered. */
  readonly toolVersion?: string | null;
  /** For a call in the tool queue: how many calls of its tool run at once in the workspace. Absent: no limit. */
  readonly concurrency?: number | null;
}

/**
 * The ledger row of a call, committed with its round. `status`: `running` if it starts with this commit, `pending` if it starts later, or its
 * final status.
 */
export function newCallRow(job: JobRef, round: number, call: NewCall): PartRow {
  const row = partRow(newCalls, [
    job.workspaceId,
    job.jobId,
    call.id ?? newId(),
    round,
    call.ordinal,
    call.callId,
    call.name,
    call.arguments,
    call.effect,
    call.status,
    call.result,
    call.error,
    call.ranMs,
    call.runtime ?? 'server',
    call.resultBytes ?? null,
    call.executor ?? 'worker',
    call.approval ?? null,
    call.grantId ?? null,
    call.toolVersion ?? null,
    call.concurrency ?? null,
    argumentContents(call.arguments),
  ]);
  return call.executor === 'job' && call.status === 'running' ? withDueMessage(row, job) : row;
}

/** Delay of the message in ms. The worker starts the sub-job right after this commit; if the worker dies, the message finds the call. */
const subJobStartMs = 5_000;

function withDueMessage(row: PartRow, job: JobRef): PartRow {
  return { ...row, message: subJobsDue(job, systemClock.now() + subJobStartMs) };
}

/** Starts a committed call under the current epoch, in the worker or as a sub-job. */
export function startCallRow(
  job: JobRef,
  { round, ordinal }: { readonly round: number; readonly ordinal: number },
  executor: 'worker' | 'job' = 'worker',
): PartRow {
  const row = partRow(startedCalls, [job.workspaceId, job.jobId, round, ordinal, executor]);
  return executor === 'job' ? withDueMessage(row, job) : row;
}

type OpenedRow = readonly [...CallKey, status: string, executor: string];

/** A committed call that needs an approval or a client. */
const openedCalls: CommitPart<OpenedRow> = {
  name: 'opened_calls',
  columns: [
    ['workspace_id', 'uuid'],
    ['job_id', 'uuid'],
    ['round', 'int'],
    ['ordinal', 'int'],
    ['status', 'text'],
    ['executor', 'text'],
  ],
  sql: (rows) => `UPDATE tool_call t SET status = r.status, executor = r.executor, approved_at = NULL
    FROM ${rows} r
   WHERE t.workspace_id = r.workspace_id AND t.job_id = r.job_id AND t.round = r.round AND t.ordinal = r.ordinal
     AND t.status IN ('pending', 'awaiting_approval', 'running') RETURNING 1`,
};

/** An interrupted call whose tool reported the outcome. */
const verifiedCalls: CommitPart<SettledRow> = {
  name: 'verified_calls',
  columns: settledCalls.columns,
  sql: (
    rows,
  ) => `UPDATE tool_call t SET status = r.status, result = r.result, error = r.error, finished_at = clock_timestamp(),
      result_bytes = coalesce(r.result_bytes, octet_length(r.result))
    FROM ${rows} r
   WHERE t.workspace_id = r.workspace_id AND t.job_id = r.job_id AND t.round = r.round AND t.ordinal = r.ordinal
     AND t.status = 'interrupted' RETURNING 1`,
};

/** Suspends a committed call until an approver approves it (`awaiting_approval`) or a client runs it (`awaiting_client`). */
export function openCallRow(
  job: JobRef,
  place: { readonly round: number; readonly ordinal: number },
  to: { readonly status: 'awaiting_approval' | 'awaiting_client'; readonly executor: 'worker' | 'client' },
): PartRow {
  return partRow(openedCalls, [job.workspaceId, job.jobId, place.round, place.ordinal, to.status, to.executor]);
}

/** Stores the outcome of an interrupted call as the tool itself reports it. */
export function verifyCallRow(
  job: JobRef,
  place: { readonly round: number; readonly ordinal: number },
  settlement: Settlement,
): PartRow {
  return partRow(verifiedCalls, settledRow(job, place, settlement));
}

/**
 * Stores the end of a call. A second write fails, because a settled call never changes. `approval`: why the call did not run; replaces the
 * earlier approval.
 */
export function settleCallRow(
  job: JobRef,
  place: { readonly round: number; readonly ordinal: number },
  settlement: Settlement & { readonly approval?: Approval | null },
): PartRow {
  return partRow(settledCalls, settledRow(job, place, settlement));
}

function settledRow(
  job: JobRef,
  place: { readonly round: number; readonly ordinal: number },
  settlement: Settlement & { readonly approval?: Approval | null },
): SettledRow {
  const { status, approval = null } = settlement;
  const [result, error, bytes] =
    status === 'completed'
      ? [settlement.result, null, settlement.resultBytes ?? null]
      : [null, settlement.failure, null];
  return [job.workspaceId, job.jobId, place.round, place.ordinal, status, result, error, bytes, approval];
}
