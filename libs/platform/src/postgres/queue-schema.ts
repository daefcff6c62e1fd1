import type pg from 'pg';
import { PgBoss } from 'pg-boss';

import { QUEUE_SCHEMA, queues, type QueueSettings, TOOL_QUEUES } from './queue-list.js';

/**
 * Installs or upgrades pg-boss's schema as the migrating login, creates the queues that are missing, updates the settings of the
 * others, and grants what the serving roles need: the API sends (it reads ids and settings, never a message), tool processes take
 * requests and send what concerns their calls, the engine does everything else.
 */
export async function ensureQueueSchema(client: pg.Client): Promise<void> {
  const boss = new PgBoss({
    db: { executeSql: (text, values) => execute(client, text, values) },
    schema: QUEUE_SCHEMA,
    supervise: false,
    schedule: false,
  });
  boss.on('error', () => undefined); // what matters also rejects start() or createQueue()
  await boss.start();
  try {
    for (const [queue, settings] of Object.entries<QueueSettings>(queues)) {
      if ((await boss.getQueue(queue)) === null) await boss.createQueue(queue, settings);
      else await boss.updateQueue(queue, changeable(settings));
    }
  } finally {
    await boss.stop({ graceful: false });
  }
  await client.query(GRANTS);
  await ensureToolPolicies(client);
}

/** Once: enabling row-level security and making a policy lock the table, and this runs at the start of every process. */
async function ensureToolPolicies(client: pg.Client): Promise<void> {
  const { rows } = await client.query<{ missing: boolean }>(`
    SELECT to_regclass('tool_process.own_call') IS NOT NULL AND NOT relrowsecurity AS missing
      FROM pg_class WHERE oid = '${QUEUE_SCHEMA}.job'::regclass`);
  if (rows[0]?.missing === true) await client.query(TOOL_POLICIES);
}

/** A queue keeps the policy it was created with. */
function changeable(settings: QueueSettings): QueueSettings {
  return Object.fromEntries(Object.entries(settings).filter(([name]) => name !== 'policy'));
}

/** A script of several statements returns a list of results; pg-boss needs none of them. */
async function execute(client: pg.Client, text: string, values: unknown[] = []): Promise<{ rows: unknown[] }> {
  const result: unknown = values.length > 0 ? await client.query(text, values) : await client.query(text);
  if (Array.isArray(result)) return { rows: [] };
  return result as pg.QueryResult<object>; // a single statement's result, by pg's own typing of query()
}

const GRANTS = `
  GRANT USAGE ON SCHEMA ${QUEUE_SCHEMA} TO nightshift_api, nightshift_engine, nightshift_tools;
  GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA ${QUEUE_SCHEMA} TO nightshift_engine;
  GRANT USAGE ON ALL SEQUENCES IN SCHEMA ${QUEUE_SCHEMA} TO nightshift_engine;
  GRANT SELECT ON ${QUEUE_SCHEMA}.version, ${QUEUE_SCHEMA}.queue TO nightshift_api;
  GRANT INSERT, SELECT (id, start_after) ON ${QUEUE_SCHEMA}.job, ${QUEUE_SCHEMA}.job_common TO nightshift_api;
  GRANT SELECT (name, policy, retention_seconds, expire_seconds, deletion_seconds, retry_limit, retry_delay, retry_backoff)
     ON ${QUEUE_SCHEMA}.queue TO nightshift_tools;
  GRANT SELECT (id, name, data, priority, state, blocked, created_on, start_after, group_id, singleton_key),
        INSERT (id, name, data, priority, created_on, start_after, keep_until, expire_seconds, deletion_seconds, retry_limit,
                retry_delay, retry_backoff, policy, group_id, singleton_key),
        UPDATE (priority), DELETE ON ${QUEUE_SCHEMA}.job TO nightshift_tools;`;

/**
 * The other roles see every row, as without row-level security. A tool process takes requests (locking one requires the privilege to
 * update it, but no update passes), sends progress and results of calls that it has claimed and requests for those it releases, and
 * reports messages that it cannot read.
 */
const TOOL_POLICIES = `
  BEGIN;
  CREATE POLICY serving ON ${QUEUE_SCHEMA}.job TO nightshift_api, nightshift_engine USING (true) WITH CHECK (true);
  CREATE POLICY tools_read ON ${QUEUE_SCHEMA}.job FOR SELECT TO nightshift_tools USING (name = '${TOOL_QUEUES.requests}');
  CREATE POLICY tools_lock ON ${QUEUE_SCHEMA}.job FOR UPDATE TO nightshift_tools
    USING (name = '${TOOL_QUEUES.requests}') WITH CHECK (false);
  CREATE POLICY tools_take ON ${QUEUE_SCHEMA}.job FOR DELETE TO nightshift_tools USING (name = '${TOOL_QUEUES.requests}');
  CREATE POLICY tools_send ON ${QUEUE_SCHEMA}.job FOR INSERT TO nightshift_tools WITH CHECK (
    CASE WHEN name IN ('${TOOL_QUEUES.requests}', '${TOOL_QUEUES.results}') THEN
           (data->>'type' = 'function_request') = (name = '${TOOL_QUEUES.requests}')
           AND EXISTS (SELECT FROM tool_process.own_call c WHERE c.workspace_id = (data->>'workspace_id')::uuid
                          AND c.id = (data->>'correlation_id')::uuid AND c.job_id = (data->>'job_id')::uuid)
         WHEN name = '${TOOL_QUEUES.dead}' THEN data->>'type' = 'dead_letter' AND data->>'reason' = 'unreadable'
         ELSE false END);
  ALTER TABLE ${QUEUE_SCHEMA}.job ENABLE ROW LEVEL SECURITY;
  COMMIT;`;
