import type { AddressedMessage } from '#platform';

import { staleMs } from '../presence/presence.repository.js';
import type { JobEventType, NewJobEvent } from './job-event.js';

/** Events that may become webhooks. */
const announced: ReadonlySet<JobEventType> = new Set([
  'job-finished',
  'job-waiting',
  'interrupt-opened',
  'interrupt-resolved',
  'tool-call',
  'tool-call-updated',
  'node-finished',
]);

/** Whether a write may add webhooks, so that its statement needs `webhooksSql`. */
export function addsWebhooks({ type, body }: NewJobEvent): boolean {
  if (type === 'tool-call' || type === 'tool-call-updated') return body.call.status === 'error';
  return announced.has(type);
}

/** What RETURNING of the statement that writes `logged` must list. */
export const loggedColumns = 'workspace_id, job_id, seq, type, body, events, at';

/** A pack contains node events; `seq` of its row is the number of the last one. */
const eventOf = `LATERAL (
    SELECT l.seq, l.type, l.body WHERE l.type <> 'packed'
    UNION ALL
    SELECT l.seq - l.events + p.ordinality, p.value->>0, p.value->1
      FROM jsonb_array_elements(CASE WHEN l.type = 'packed' THEN l.body ELSE '[]' END) WITH ORDINALITY p) event`;

const typeOf = `CASE event.type
    WHEN 'job-finished' THEN 'job.' || (event.body->>'status')
    WHEN 'job-waiting' THEN 'job.waiting'
    WHEN 'interrupt-opened' THEN 'interrupt.opened'
    WHEN 'interrupt-resolved' THEN CASE (SELECT i.status FROM interrupt i WHERE i.workspace_id = l.workspace_id
      AND i.id = (event.body->>'interruptId')::uuid) WHEN 'expired' THEN 'interrupt.expired' ELSE 'interrupt.resolved' END
    WHEN 'node-finished' THEN 'node.finished'
    ELSE CASE WHEN event.body->'call'->>'status' = 'error' THEN 'tool_call.failed' END END`;

/** Ids, statuses and error texts. The columns of the job row that this reads do not change when it ends. */
const dataOf = `jsonb_strip_nulls(jsonb_build_object(
    'workspaceId', l.workspace_id, 'jobId', l.job_id, 'threadId', j.thread_id, 'parentJobId', j.parent_job_id, 'kind', j.kind,
    'status', CASE event.type WHEN 'job-finished' THEN event.body->>'status' WHEN 'job-waiting' THEN 'waiting' ELSE j.status END,
    'seq', event.seq, 'viewers', seen.viewers,
    'interruptId', event.body->>'interruptId', 'interruptIds', event.body->'interruptIds',
    'interruptKind', CASE event.type WHEN 'interrupt-opened' THEN event.body->>'kind' END, 'outcome', event.body->>'outcome',
    'callId', coalesce(event.body->'call'->>'id', event.body->>'callId'), 'tool', event.body->'call'->>'name',
    'nodeId', event.body->>'nodeId', 'nodeRunId', event.body->>'nodeRunId',
    'nodeStatus', CASE event.type WHEN 'node-finished' THEN event.body->>'status' END,
    'reason', left(event.body->>'reason', 500), 'errorCode', event.body->'error'->>'code',
    'error', left(coalesce(event.body->'call'->>'error', event.body->'error'->>'message'), 2000),
    'retryable', CASE WHEN event.body ? 'error' OR event.body->'call' ? 'error'
      THEN coalesce(event.body->'call'->'retryable', event.body->'error'->'retryable', 'false') END,
    'content', CASE WHEN e.include_content AND octet_length(event.body::text) <= 16000 THEN event.body END))`;

/**
 * Adds a delivery for each enabled endpoint that wants an event of `logged`. It is part of the statement that writes the events, so that no
 * event is lost or invented; a workspace without endpoints costs an index probe for each event. Returns `id`, `workspace_id`, `endpoint_id`.
 */
export function webhooksSql(logged: string): string {
  return `INSERT INTO webhook_delivery (workspace_id, id, endpoint_id, type, job_id, body, next_at, created_at)
  SELECT l.workspace_id, gen_random_uuid(), e.id, webhook.type, l.job_id, jsonb_build_object('type', webhook.type,
      'timestamp', to_char(l.at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'), 'data', ${dataOf})::text, l.at, l.at
    FROM ${logged} l
    JOIN webhook_endpoint e ON e.workspace_id = l.workspace_id AND e.enabled
    JOIN job j ON j.workspace_id = l.workspace_id AND j.id = l.job_id
   CROSS JOIN ${eventOf}
   CROSS JOIN LATERAL (SELECT ${typeOf} AS type) webhook
   CROSS JOIN LATERAL (SELECT count(*)::int AS viewers FROM job_viewer v WHERE v.workspace_id = l.workspace_id
      AND v.job_id IN (l.job_id, coalesce(j.root_job_id, l.job_id)) AND v.seen_at > clock_timestamp() - interval '${staleMs} ms') seen
   WHERE l.type IN ('packed', ${[...announced].map((type) => `'${type}'`).join(', ')})
     AND webhook.type = ANY(e.events) AND NOT (e.only_unwatched AND webhook.type LIKE 'job.%' AND seen.viewers > 0)
  RETURNING workspace_id, id, endpoint_id`;
}

/** The queue messages of the relation `added`, for `Queues.insertionOf`. */
export function webhookMessagesSql(added: string): string {
  return `SELECT id, jsonb_build_object('workspaceId', workspace_id, 'deliveryId', id, 'number', 0) AS data, endpoint_id::text AS "groupId"
    FROM ${added}`;
}

/** A delivery that a statement has added. */
export interface AddedWebhook {
  readonly id: string;
  readonly endpointId: string;
}

/** A column of the relation `added`: what `webhookMessages` needs. Null: nothing was added. */
export function addedWebhooksSql(added: string): string {
  return `(SELECT json_agg(json_build_object('id', id, 'endpointId', endpoint_id)) FROM ${added})`;
}

/** The messages to send in the same transaction, where the statement does not send them itself. */
export function webhookMessages(workspaceId: string, added: readonly AddedWebhook[] | null): AddressedMessage[] {
  return (added ?? []).map(({ id, endpointId }) => ({
    queue: 'webhook.deliver',
    id,
    data: { workspaceId, deliveryId: id, number: 0 },
    group: { id: endpointId },
  }));
}
