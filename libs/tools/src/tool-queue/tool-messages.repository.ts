import { Injectable } from '@nestjs/common';

import { insertMessagesSql, newId, Postgres, QUEUE_SCHEMA, TOOL_QUEUES, waitingMessages } from '#platform';

/** A message as it lay in its queue. */
export interface TakenMessage {
  readonly id: string;
  readonly data: unknown;
  /** How long it has lain there, ms. */
  readonly ageMs: number;
}

/** What to take from the requests. */
export interface TakeOptions {
  readonly limit: number;
  /** Tools and workspaces without capacity here now; their requests stay for another worker, or for later. */
  readonly busyTools: readonly string[];
  readonly busyWorkspaces: readonly string[];
}

/** What happens to a result message: it is complete, or it is read again after a moment. */
export type MessageFate = 'done' | { readonly againInMs: number };

/** A message to be sent. */
export interface OutgoingMessage {
  readonly queue: (typeof TOOL_QUEUES)[keyof typeof TOOL_QUEUES];
  readonly data: object;
  /** Null: it belongs to no workspace. */
  readonly workspaceId: string | null;
  /** What it is about: the tool, or the reason of a dead letter. */
  readonly topic: string;
  /** Default 0; higher goes first. */
  readonly priority?: number;
}

const oldestFirst = 'ORDER BY m.priority DESC, m.created_on';
const age = `(extract(epoch FROM ${QUEUE_SCHEMA}.job_now() - m.created_on) * 1000)::float8 AS "ageMs"`;

/** A request is removed with the statement that takes it: from then on the ledger's claim is what counts. */
const takeSql = `WITH next AS MATERIALIZED (
  SELECT m.id, ${age}, m.priority FROM ${QUEUE_SCHEMA}.job m WHERE ${waitingMessages('m')}
     AND (m.group_id IS NULL OR m.group_id <> ALL($3::text[])) AND (m.singleton_key IS NULL OR m.singleton_key <> ALL($4::text[]))
   ${oldestFirst} LIMIT $2 FOR UPDATE SKIP LOCKED)
DELETE FROM ${QUEUE_SCHEMA}.job m USING next n WHERE m.name = $1 AND m.id = n.id
RETURNING m.id, m.data, n."ageMs", n.priority`;

const lockSql = `SELECT m.id, m.data, ${age} FROM ${QUEUE_SCHEMA}.job m WHERE ${waitingMessages('m')}
  ${oldestFirst} LIMIT $2 FOR UPDATE SKIP LOCKED`;

const sendSql = insertMessagesSql(`(SELECT w.id, w.queue, w.data, w.priority, interval '0' AS delay, w.topic, w.owner
  FROM json_to_recordset($1::json) AS w(id uuid, queue text, data jsonb, priority int, topic text, owner text)) m`);

/** The queues of the isolated tools, read and written beside pg-boss, in rows that are pg-boss's own. As the engine's role. */
@Injectable()
export class ToolMessagesRepository {
  constructor(private readonly postgres: Postgres) {}

  async send(messages: readonly OutgoingMessage[]): Promise<void> {
    const rows = messages.map(({ queue, data, workspaceId, topic, priority = 0 }) => ({
      id: newId(),
      queue,
      data,
      priority,
      topic,
      owner: workspaceId,
    }));
    await this.postgres.engine.query(sendSql, [JSON.stringify(rows)]);
  }

  /** Takes requests for good, most urgent and oldest first. */
  async takeRequests({ limit, busyTools, busyWorkspaces }: TakeOptions): Promise<TakenMessage[]> {
    const { rows } = await this.postgres.engine.query<TakenMessage & { readonly priority: number }>(takeSql, [
      TOOL_QUEUES.requests,
      limit,
      busyTools,
      busyWorkspaces,
    ]);
    return rows.sort((a, b) => b.priority - a.priority || b.ageMs - a.ageMs);
  }

  /**
   * Hands out up to `limit` results, one after the other, and removes those that are done with. They stay locked meanwhile, so
   * no other process has them; when this process dies or `apply` throws, they stay queued. Returns how many there were.
   */
  async applyResults(limit: number, apply: (message: TakenMessage) => Promise<MessageFate>): Promise<number> {
    const client = await this.postgres.engine.connect();
    let broken = false;
    try {
      await client.query('BEGIN');
      const { rows } = await client.query<TakenMessage>(lockSql, [TOOL_QUEUES.results, limit]);
      const done: string[] = [];
      const later: { readonly id: string; readonly ms: number }[] = [];
      for (const message of rows) {
        const fate = await apply(message);
        if (fate === 'done') done.push(message.id);
        else later.push({ id: message.id, ms: fate.againInMs });
      }
      await client.query(`DELETE FROM ${QUEUE_SCHEMA}.job WHERE name = $1 AND id = ANY($2::uuid[])`, [
        TOOL_QUEUES.results,
        done,
      ]);
      await client.query(
        `UPDATE ${QUEUE_SCHEMA}.job m SET start_after = clock_timestamp() + w.ms * interval '1 ms'
           FROM json_to_recordset($2::json) AS w(id uuid, ms int) WHERE m.name = $1 AND m.id = w.id`,
        [TOOL_QUEUES.results, JSON.stringify(later)],
      );
      await client.query('COMMIT');
      return rows.length;
    } catch (error) {
      await client.query('ROLLBACK').catch(() => (broken = true));
      throw error;
    } finally {
      client.release(broken);
    }
  }

  /** For metrics: requests that wait and how long the oldest has, ms; and what could not be delivered. */
  async depths(): Promise<{ readonly waiting: number; readonly oldestMs: number; readonly dead: number }> {
    const { rows } = await this.postgres.engine.query<{ waiting: number; oldestMs: number; dead: number }>(
      `SELECT count(*) FILTER (WHERE name = $1)::int AS waiting, count(*) FILTER (WHERE name = $2)::int AS dead,
              coalesce(extract(epoch FROM ${QUEUE_SCHEMA}.job_now() - min(created_on) FILTER (WHERE name = $1)) * 1000, 0)::float8
                AS "oldestMs"
         FROM ${QUEUE_SCHEMA}.job WHERE name IN ($1, $2) AND state < 'active'`,
      [TOOL_QUEUES.requests, TOOL_QUEUES.dead],
    );
    return rows[0] ?? { waiting: 0, oldestMs: 0, dead: 0 };
  }
}
