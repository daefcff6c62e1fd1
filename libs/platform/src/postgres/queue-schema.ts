import { PgBoss, type QueueResult } from 'pg-boss';

import type { AdminClient } from './admin-client.js';
import { QUEUE_SCHEMA, queues, type QueueSettings, TOOL_QUEUES } from './queue-list.js';

/**
 * Installs or upgrades pg-boss's schema with the migrating login, creates missing queues, updates the settings of the others, and grants each
 * role the privileges that pg-boss needs: the API sends; tool processes fetch and complete requests, and send messages about their calls; the
 * workers do everything else.
 */
export function ensureQueueSchema(client: AdminClient): Promise<void> {
  return withBoss(client, async (boss) => {
    for (const [queue, settings] of Object.entries<QueueSettings>(queues)) await ensureQueue(boss, queue, settings);
    await grant(client, await boss.getQueues());
  });
}

/** Deletes every message of a queue, with the migrating login. */
export function deleteMessages(client: AdminClient, queue: string): Promise<void> {
  return withBoss(client, (boss) => boss.deleteAllJobs(queue));
}

async function withBoss(client: AdminClient, use: (boss: PgBoss) => Promise<void>): Promise<void> {
  const boss = new PgBoss({
    db: { executeSql: (text, values) => execute(client, text, values) },
    schema: QUEUE_SCHEMA,
    supervise: false,
    schedule: false,
  });
  boss.on('error', () => undefined); // relevant errors also reject start() or the call
  await boss.start();
  try {
    await use(boss);
  } finally {
    await boss.stop({ graceful: false });
  }
}

/** Whether a queue has its own table is fixed at its creation, so a queue of an older build is recreated with its messages. */
async function ensureQueue(boss: PgBoss, queue: string, settings: QueueSettings): Promise<void> {
  const found = await boss.getQueue(queue);
  if (found !== null && found.partition === (settings.partition ?? false)) {
    await boss.updateQueue(queue, changeable(settings));
    return;
  }
  const waiting = found === null ? [] : await boss.findJobs<object>(queue, { queued: true });
  if (found !== null) await boss.deleteQueue(queue);
  await boss.createQueue(queue, settings);
  const kept = waiting.map(({ id, data, priority, startAfter, singletonKey, groupId }) => ({
    ...{ id, data, priority, startAfter },
    ...(singletonKey === null ? {} : { singletonKey }),
    ...(groupId === null || groupId === undefined ? {} : { group: { id: groupId } }),
  }));
  if (kept.length > 0) await boss.insert(queue, kept);
}

/** The policy and the table of a queue cannot be changed after its creation. */
function changeable(settings: QueueSettings): QueueSettings {
  return Object.fromEntries(Object.entries(settings).filter(([name]) => name !== 'policy' && name !== 'partition'));
}

/** A script of several statements returns a list of results; pg-boss needs none of them. */
async function execute(client: AdminClient, text: string, values: unknown[] = []): Promise<{ rows: unknown[] }> {
  const result: unknown = values.length > 0 ? await client.query(text, values) : await client.query(text);
  if (Array.isArray(result)) return { rows: [] };
  return result as { rows: unknown[] }; // the result of a single statement, according to the types of pg-boss
}

/** Columns that pg-boss writes when it sends a message. */
const sentColumns = `id, name, data, priority, start_after, created_on, singleton_key, singleton_on, group_id, group_tier,
  expire_seconds, deletion_seconds, keep_until, retry_limit, retry_delay, retry_backoff, retry_delay_max, policy, dead_letter,
  heartbeat_seconds, blocked, blocking, pending_dependencies`;

/** Columns that pg-boss reads and writes when it fetches, completes and returns a message. */
const fetchedColumns = `id, name, data, priority, state, blocked, created_on, start_after, started_on, retry_count, expire_seconds,
  heartbeat_seconds, singleton_key, group_id, group_tier, completed_on, pending_dependencies`;
const settledColumns =
  'state, started_on, heartbeat_on, retry_count, completed_on, output, blocked, pending_dependencies';

/** Tables of pg-boss that it reads before it sends or fetches: its version and the settings of queues. */
const catalog = ['version', 'queue'];

/** Grants tool processes the privileges that this build needs, and revokes those of an older build. */
async function grant(client: AdminClient, found: readonly QueueResult[]): Promise<void> {
  const tableOf = (name: string) => `${QUEUE_SCHEMA}.${found.find((queue) => queue.name === name)?.table ?? ''}`;
  const messages = new Set(found.map(({ name }) => tableOf(name)));
  const settings = catalog.map((name) => `${QUEUE_SCHEMA}.${name}`).join(', ');
  await client.query(`
    BEGIN;
    REVOKE ALL ON ALL TABLES IN SCHEMA ${QUEUE_SCHEMA} FROM nightshift_tools;
    GRANT USAGE ON SCHEMA ${QUEUE_SCHEMA} TO nightshift_api, nightshift_engine, nightshift_tools;
    GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA ${QUEUE_SCHEMA} TO nightshift_engine;
    GRANT USAGE ON ALL SEQUENCES IN SCHEMA ${QUEUE_SCHEMA} TO nightshift_engine;
    GRANT SELECT ON ${settings} TO nightshift_api, nightshift_tools;
    GRANT INSERT, SELECT (id, start_after) ON ${[...messages].join(', ')} TO nightshift_api;
    GRANT SELECT (${fetchedColumns}), UPDATE (${settledColumns}), DELETE ON ${tableOf(TOOL_QUEUES.requests)} TO nightshift_tools;
    GRANT INSERT (${sentColumns}) ON ${tableOf(TOOL_QUEUES.requests)}, ${tableOf(TOOL_QUEUES.results)},
      ${tableOf(TOOL_QUEUES.dead)} TO nightshift_tools;
    COMMIT;`);
  const [requests, results, dead] = [TOOL_QUEUES.requests, TOOL_QUEUES.results, TOOL_QUEUES.dead].map(tableOf);
  await ensurePolicies(client, requests ?? '', REQUEST_POLICIES);
  await ensurePolicies(client, results ?? '', [sendPolicy(ofOwnCall("data->>'type' <> 'function_request'"))]);
  await ensurePolicies(client, dead ?? '', [
    sendPolicy("data->>'type' = 'dead_letter' AND data->>'reason' = 'unreadable'"),
  ]);
}

/**
 * Creates the policies once: enabling row-level security and creating a policy lock the table, and this function runs at the start of every
 * process.
 */
async function ensurePolicies(client: AdminClient, table: string, policies: readonly string[]): Promise<void> {
  const { rows } = await client.query<{ missing: boolean }>(
    `SELECT to_regclass('tool_process.own_call') IS NOT NULL AND NOT relrowsecurity AS missing FROM pg_class WHERE oid = $1::regclass`,
    [table],
  );
  if (rows[0]?.missing !== true) return;
  const serving = 'serving ON %t TO nightshift_api, nightshift_engine USING (true) WITH CHECK (true)';
  const made = [serving, ...policies].map((policy) => `CREATE POLICY ${policy.replace('%t', table)};`);
  await client.query(`BEGIN; ${made.join('\n')} ALTER TABLE ${table} ENABLE ROW LEVEL SECURITY; COMMIT;`);
}

/** Whether the message is about a call that the process has claimed. */
function ofOwnCall(condition: string): string {
  return `${condition} AND EXISTS (SELECT FROM tool_process.own_call c WHERE c.workspace_id = (data->>'workspace_id')::uuid
    AND c.id = (data->>'correlation_id')::uuid AND c.job_id = (data->>'job_id')::uuid)`;
}

function sendPolicy(check: string): string {
  return `tools_send ON %t FOR INSERT TO nightshift_tools WITH CHECK (${check})`;
}

/**
 * A tool process may fetch, complete and delete requests, read waiting and active requests and those of its own calls, and send requests for
 * calls that it releases.
 */
const REQUEST_POLICIES = [
  `tools_read ON %t FOR SELECT TO nightshift_tools USING (state <= 'active' OR state = 'cancelled' OR ${ofOwnCall('true')})`,
  `tools_settle ON %t FOR UPDATE TO nightshift_tools USING (state <= 'active' OR state = 'cancelled') WITH CHECK (true)`,
  `tools_delete ON %t FOR DELETE TO nightshift_tools USING (state <= 'active')`,
  sendPolicy(ofOwnCall("data->>'type' = 'function_request'")),
];
