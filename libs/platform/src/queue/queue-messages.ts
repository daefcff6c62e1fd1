import { QUEUE_SCHEMA } from '../postgres/queue-list.js';

/**
 * INSERT of messages as pg-boss itself would write them, for statements that write more than the message: one transaction,
 * one round trip. `source` is what follows FROM and names a relation `m` (id uuid, queue text, data jsonb, priority int, delay
 * interval, topic text, owner text); `topic` and `owner` become the message's group and singleton key, which is what a reader
 * can leave out by. A message with the id of one that is still there is not sent again. Returns one row per message sent.
 */
export function insertMessagesSql(source: string): string {
  return `INSERT INTO ${QUEUE_SCHEMA}.job (id, name, data, priority, created_on, start_after, keep_until, expire_seconds,
      deletion_seconds, retry_limit, retry_delay, retry_backoff, policy, group_id, singleton_key)
    SELECT m.id, q.name, m.data, m.priority, ${QUEUE_SCHEMA}.job_now(), ${QUEUE_SCHEMA}.job_now() + m.delay,
           ${QUEUE_SCHEMA}.job_now() + m.delay + q.retention_seconds * interval '1 s', q.expire_seconds, q.deletion_seconds,
           q.retry_limit, q.retry_delay, q.retry_backoff, q.policy, m.topic, m.owner
      FROM ${source} JOIN ${QUEUE_SCHEMA}.queue q ON q.name = m.queue ON CONFLICT DO NOTHING RETURNING 1`;
}

/** Which messages of queue $1 are waiting and due, for a statement that takes them: the oldest of the most urgent first. */
export function waitingMessages(alias: string): string {
  return `${alias}.name = $1 AND ${alias}.state < 'active' AND NOT ${alias}.blocked AND ${alias}.start_after <= ${QUEUE_SCHEMA}.job_now()`;
}
