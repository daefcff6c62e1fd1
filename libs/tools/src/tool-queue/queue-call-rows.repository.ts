import { type CommitPart, type PartRow, partRow } from '#jobs';
import { insertMessagesSql, TOOL_QUEUES } from '#platform';

import { idempotencyKey } from '../tool-calls.repository.js';
import { type FunctionRequest, REQUEST_TTL_MS } from './queue-message.js';

/** The job whose lease sends the call; a claimed job is one. */
export interface QueueingJob {
  readonly workspaceId: string;
  readonly jobId: string;
  readonly model: string;
  readonly principal: string;
}

/** A call on its way to the isolated queue. */
export interface QueuedCall {
  readonly round: number;
  readonly ordinal: number;
  readonly name: string;
  /** As they are to be executed: JSON text, without what a secret's name stands for. */
  readonly arguments: string;
  /** Fingerprint of the definition that was offered; the process that runs it refuses another one. */
  readonly toolVersion?: string | null;
  readonly allowEdit?: boolean;
  readonly adminRequired?: boolean;
}

type SentRow = readonly [
  workspaceId: string,
  jobId: string,
  round: number,
  ordinal: number,
  args: string,
  version: string | null,
];

/** From here on the call has a lease of its own, which nobody holds yet. */
const queuedCalls: CommitPart<SentRow> = {
  name: 'queued_calls',
  columns: [
    ['workspace_id', 'uuid'],
    ['job_id', 'uuid'],
    ['round', 'int'],
    ['ordinal', 'int'],
    ['arguments', 'text'],
    ['tool_version', 'text'],
  ],
  sql: (rows) => `UPDATE tool_call t SET status = 'running', executor = 'queue', started_epoch = up.lease_epoch,
      queued_at = clock_timestamp(), started_at = NULL, exec_owner = NULL, exec_until = NULL, exec_attempts = 0,
      cancel_requested_at = NULL, executed_arguments = r.arguments, tool_version = coalesce(r.tool_version, t.tool_version)
    FROM ${rows} r JOIN up ON up.workspace_id = r.workspace_id AND up.id = r.job_id
   WHERE t.workspace_id = r.workspace_id AND t.job_id = r.job_id AND t.round = r.round AND t.ordinal = r.ordinal
     AND (t.status = 'pending' OR (t.status = 'awaiting_approval' AND t.approved_at IS NOT NULL)) RETURNING 1`,
};

type RequestRow = readonly [
  workspaceId: string,
  jobId: string,
  id: string | null,
  round: number,
  ordinal: number,
  body: object,
];

/**
 * The message's id says which attempt it asks for, so that asking twice leaves one message. A call that the same statement
 * inserts cannot be seen by it: then `id` says which one it is.
 */
const toolRequests: CommitPart<RequestRow> = {
  name: 'tool_requests',
  columns: [
    ['workspace_id', 'uuid'],
    ['job_id', 'uuid'],
    ['id', 'uuid'],
    ['round', 'int'],
    ['ordinal', 'int'],
    ['body', 'jsonb'],
  ],
  sql: (rows) =>
    insertMessagesSql(`(SELECT ${messageId('c.id', 'c.epoch')} AS id, '${TOOL_QUEUES.requests}' AS queue, 0 AS priority,
        interval '0' AS delay, r.body->>'tool_name' AS topic, r.workspace_id::text AS owner,
        r.body || jsonb_build_object('correlation_id', c.id, 'session_id', up.thread_id, 'exec_epoch', c.epoch, 'attempt', 1,
          'timestamp', (extract(epoch FROM clock_timestamp()) * 1000)::bigint) AS data
      FROM ${rows} r JOIN up ON up.workspace_id = r.workspace_id AND up.id = r.job_id
      LEFT JOIN tool_call t ON t.workspace_id = r.workspace_id AND t.job_id = r.job_id AND t.round = r.round
        AND t.ordinal = r.ordinal
      CROSS JOIN LATERAL (SELECT coalesce(r.id, t.id) AS id, coalesce(t.exec_epoch, 0) AS epoch) c
     WHERE c.id IS NOT NULL) m`),
};

/** SQL of the id of the message that asks for the attempt after `epoch`. */
export function messageId(id: string, epoch: string): string {
  return `md5(${id}::text || ':' || ${epoch}::text)::uuid`;
}

/**
 * Sends a call that is committed already (`pending`, or `awaiting_approval` and approved): it becomes `running` with the executor
 * `queue` in the very commit that sends the request. Commit them with `commitUnlessCancelled`, then call `ToolQueue.hint`.
 */
export function queueCallRows(job: QueueingJob, call: QueuedCall): readonly PartRow[] {
  const { round, ordinal, toolVersion = null } = call;
  const moved = [job.workspaceId, job.jobId, round, ordinal, call.arguments, toolVersion] as const;
  return [partRow(queuedCalls, moved), requestRow(job, call, null)];
}

/**
 * Sends a call that this very commit inserts with `newCallRow({ id, status: 'running', executor: 'queue' })`: `id` is that row's.
 */
export function queueNewCallRow(job: QueueingJob, call: QueuedCall & { readonly id: string }): PartRow {
  return requestRow(job, call, call.id);
}

type FixedPart = Omit<FunctionRequest, 'correlation_id' | 'session_id' | 'exec_epoch' | 'attempt' | 'timestamp'>;

function requestRow(job: QueueingJob, call: QueuedCall, id: string | null): PartRow {
  const { workspaceId, jobId, model, principal } = job;
  const { round, ordinal, name, allowEdit = true, adminRequired = false } = call;
  const body: FixedPart = {
    type: 'function_request',
    workspace_id: workspaceId,
    job_id: jobId,
    tool_name: name,
    arguments: call.arguments,
    metadata: {
      model,
      idempotency_key: idempotencyKey(jobId, round, ordinal),
      allow_edit: allowEdit,
      admin_required: adminRequired,
      ttl_ms: REQUEST_TTL_MS,
    },
    streaming: true,
    reply_to: TOOL_QUEUES.results,
    principal_id: principal,
  };
  return partRow(toolRequests, [workspaceId, jobId, id, round, ordinal, body]);
}
