import type { AddressedMessage } from '#platform';

import { personKinds, requestKinds } from '../interrupt.js';
import { staleMs } from '../presence/presence.repository.js';
import type { JobEventType, NewJobEvent } from './job-event.js';

/** Maximum bytes of a webhook body. Texts are truncated so that every body fits, even if each character takes several bytes. */
const maxBytes = 20_480;
/** Maximum number of awaited requests that a webhook lists. */
const maxIds = 100;

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

/** The columns that RETURNING of the statement for `logged` must list. */
export const loggedColumns = 'workspace_id, job_id, seq, type, body, events, at';

/** A pack contains node events; `seq` of its row is the number of the last one. */
const eventOf = `LATERAL (
    SELECT l.seq, l.type, l.body WHERE l.type <> 'packed'
    UNION ALL
    SELECT l.seq - l.events + p.ordinality, p.value->>0, p.value->1
      FROM jsonb_array_elements(CASE WHEN l.type = 'packed' THEN l.body ELSE '[]' END) WITH ORDINALITY p) event`;

const inList = (words: readonly string[]) => words.map((word) => `'${word}'`).join(', ');

/** SQL condition: the request needs a person or a client. A timer ends requests of other kinds, and a refused request is not waited for. */
const needsDecider = (
  kind: string,
) => `(${kind} IN (${inList(requestKinds)}) AND NOT (${kind} IN (${inList(personKinds)}) AND coalesce(
    (SELECT root.input->>'humanWait' FROM job root WHERE root.workspace_id = j.workspace_id AND root.id = coalesce(j.root_job_id, j.id)) = 'reject', false)))`;

const kindOf = (id: string) =>
  `(SELECT i.kind FROM interrupt i WHERE i.workspace_id = l.workspace_id AND i.id = (${id})::uuid)`;

/** The requests that a job waits for: ids of stored requests, and of requests that the same statement opens. */
const waitedFor = (logged: string) => `(SELECT jsonb_agg(asked.id) FROM (
    SELECT w.id FROM jsonb_array_elements_text(event.body->'interruptIds') WITH ORDINALITY w(id, n) WHERE ${needsDecider(`coalesce(${kindOf('w.id')},
      (SELECT o.body->>'kind' FROM ${logged} o WHERE o.workspace_id = l.workspace_id AND o.job_id = l.job_id AND o.type = 'interrupt-opened'
          AND o.body->>'interruptId' = w.id LIMIT 1))`)} ORDER BY w.n LIMIT ${maxIds}) asked)`;

/** The type of the webhook. Null if endpoints do not receive this event. */
const typeOf = `CASE event.type
    WHEN 'job-finished' THEN 'job.' || (event.body->>'status')
    WHEN 'job-waiting' THEN CASE WHEN asked.ids IS NOT NULL THEN 'job.waiting' END
    WHEN 'interrupt-opened' THEN CASE WHEN ${needsDecider(`event.body->>'kind'`)} THEN 'interrupt.opened' END
    WHEN 'interrupt-resolved' THEN CASE WHEN ${needsDecider(kindOf(`event.body->>'interruptId'`))} THEN
      CASE (SELECT i.status FROM interrupt i WHERE i.workspace_id = l.workspace_id AND i.id = (event.body->>'interruptId')::uuid)
        WHEN 'expired' THEN 'interrupt.expired' ELSE 'interrupt.resolved' END END
    WHEN 'node-finished' THEN 'node.finished'
    ELSE CASE WHEN event.body->'call'->>'status' = 'error' THEN 'tool_call.failed' END END`;

/**
 * The data of a webhook: ids, statuses and error texts. The first event of a job has the client's id of its thread. The columns of the job
 * row that are read here do not change when the job ends.
 */
const dataOf = `jsonb_strip_nulls(jsonb_build_object(
    'workspaceId', l.workspace_id, 'jobId', l.job_id,
    'threadId', coalesce((SELECT q.body->>'threadId' FROM job_event q WHERE q.workspace_id = j.workspace_id AND q.job_id = j.id AND q.seq = 1), j.thread_id::text),
    'parentJobId', j.parent_job_id, 'kind', j.kind,
    'status', CASE event.type WHEN 'job-finished' THEN event.body->>'status' WHEN 'job-waiting' THEN 'waiting' ELSE j.status END,
    'seq', event.seq, 'viewers', seen.viewers,
    'interruptId', event.body->>'interruptId', 'interruptIds', asked.ids,
    'interruptKind', CASE event.type WHEN 'interrupt-opened' THEN event.body->>'kind' END, 'outcome', event.body->>'outcome',
    'callId', coalesce(event.body->'call'->>'id', event.body->>'callId'), 'tool', event.body->'call'->>'name',
    'nodeId', event.body->>'nodeId', 'nodeRunId', event.body->>'nodeRunId',
    'nodeStatus', CASE event.type WHEN 'node-finished' THEN event.body->>'status' END,
    'reason', left(event.body->>'reason', 300), 'errorCode', event.body->'error'->>'code',
    'error', left(coalesce(event.body->'call'->>'error', event.body->'error'->>'message'), 1500),
    'retryable', CASE WHEN event.body ? 'error' OR event.body->'call' ? 'error'
      THEN coalesce(event.body->'call'->'retryable', event.body->'error'->'retryable', 'false') END))`;

/** The body. If the endpoint includes content, it contains the body of the event, unless the webhook would be too large. */
const withContent = `CASE WHEN e.include_content AND octet_length(event.body::text) + octet_length(fixed.body::text) <= ${maxBytes - 100}
    THEN jsonb_set(fixed.body, '{data,content}', event.body) ELSE fixed.body END`;

/**
 * Adds a delivery for each enabled endpoint that receives events of this type. It is part of the statement that writes the events, so
 * deliveries and events commit together. A workspace without endpoints costs an index probe for each event. An endpoint gets the deliveries
 * of one job one after the other. Here the lock of the job's row orders them, so the lock of the order key is not taken, and each delivery
 * gets a queue message at once. If a message is handled before its turn, its handler checks again under the lock of the order key. Returns
 * `id`, `workspace_id`, `endpoint_id`.
 */
export function webhooksSql(logged: string): string {
  return `INSERT INTO webhook_delivery (workspace_id, id, endpoint_id, type, job_id, order_key, body, next_at, created_at)
  SELECT l.workspace_id, gen_random_uuid(), e.id, webhook.type, l.job_id, e.id || '/' || l.job_id, (${withContent})::text, l.at, l.at
    FROM ${logged} l
    JOIN webhook_endpoint e ON e.workspace_id = l.workspace_id AND e.enabled
    JOIN job j ON j.workspace_id = l.workspace_id AND j.id = l.job_id
   CROSS JOIN ${eventOf}
   CROSS JOIN LATERAL (SELECT CASE event.type WHEN 'job-waiting' THEN ${waitedFor(logged)} END AS ids) asked
   CROSS JOIN LATERAL (SELECT ${typeOf} AS type) webhook
   CROSS JOIN LATERAL (SELECT count(*)::int AS viewers FROM job_viewer v WHERE v.workspace_id = l.workspace_id
      AND v.job_id IN (l.job_id, coalesce(j.root_job_id, l.job_id)) AND v.seen_at > clock_timestamp() - interval '${staleMs} ms') seen
   CROSS JOIN LATERAL (SELECT jsonb_build_object('type', webhook.type,
      'timestamp', to_char(l.at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'), 'data', ${dataOf}) AS body) fixed
   WHERE l.type IN ('packed', ${inList([...announced])})
     AND webhook.type = ANY(e.events) AND NOT (e.only_unwatched AND webhook.type LIKE 'job.%' AND seen.viewers > 0)
   ORDER BY l.job_id, event.seq
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

/** A column with the relation `added`, for `webhookMessages`. Null if nothing was added. */
export function addedWebhooksSql(added: string): string {
  return `(SELECT json_agg(json_build_object('id', id, 'endpointId', endpoint_id)) FROM ${added})`;
}

/** Like `webhookMessagesSql`, for a statement that does not send the messages itself. */
export function webhookMessages(workspaceId: string, added: readonly AddedWebhook[] | null): AddressedMessage[] {
  return (added ?? []).map(({ id, endpointId }) => ({
    queue: 'webhook.deliver',
    id,
    data: { workspaceId, deliveryId: id, number: 0 },
    group: { id: endpointId },
  }));
}
