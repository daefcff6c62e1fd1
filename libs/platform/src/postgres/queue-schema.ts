import type pg from 'pg';
import { PgBoss } from 'pg-boss';

/** Where pg-boss keeps its tables; the same name for everyone who sends or takes doorbells. */
export const QUEUE_SCHEMA = 'pgboss';

/** The doorbells of this build. */
export const DOORBELL_QUEUES: readonly string[] = ['doorbell.chat', 'doorbell.workflow'];

/** The isolated tool queue: requests, progress and responses, and what could not be read or given to anybody. */
export const TOOL_QUEUES = {
  requests: 'tool-execution',
  results: 'tool-results',
  dead: 'tool-execution-dead',
} as const;

/** Every queue of this build. */
export const QUEUES: readonly string[] = [...DOORBELL_QUEUES, ...Object.values(TOOL_QUEUES)];

/**
 * Installs or upgrades pg-boss's schema as the migrating login, makes the queues that are missing, and grants what the
 * serving roles need: the api rings (it reads ids and queue settings, never a message), the engine does everything else.
 */
export async function ensureQueueSchema(client: pg.Client, queues: readonly string[]): Promise<void> {
  const boss = new PgBoss({
    db: { executeSql: (text, values) => execute(client, text, values) },
    schema: QUEUE_SCHEMA,
    supervise: false,
    schedule: false,
  });
  boss.on('error', () => undefined); // what matters also rejects start() or createQueue()
  await boss.start();
  try {
    for (const queue of queues) {
      if ((await boss.getQueue(queue)) === null) await boss.createQueue(queue, optionsOf(queue));
    }
  } finally {
    await boss.stop({ graceful: false });
  }
  await client.query(GRANTS);
}

/** Only doorbells are also told by pg-boss's own NOTIFY; a tool message that is lost or repeated does no harm, so none is retried. */
function optionsOf(queue: string) {
  return DOORBELL_QUEUES.includes(queue) ? { notify: true } : { retryLimit: 0 };
}

/** A script of several statements answers a list of results; pg-boss then wants none of them. */
async function execute(client: pg.Client, text: string, values: unknown[] = []): Promise<{ rows: unknown[] }> {
  const result: unknown = values.length > 0 ? await client.query(text, values) : await client.query(text);
  if (Array.isArray(result)) return { rows: [] };
  return result as pg.QueryResult<object>; // a single statement's result, by pg's own typing of query()
}

const GRANTS = `
  GRANT USAGE ON SCHEMA ${QUEUE_SCHEMA} TO nightshift_api, nightshift_engine;
  GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA ${QUEUE_SCHEMA} TO nightshift_engine;
  GRANT USAGE ON ALL SEQUENCES IN SCHEMA ${QUEUE_SCHEMA} TO nightshift_engine;
  GRANT SELECT ON ${QUEUE_SCHEMA}.version, ${QUEUE_SCHEMA}.queue TO nightshift_api;
  GRANT INSERT, SELECT (id, start_after) ON ${QUEUE_SCHEMA}.job, ${QUEUE_SCHEMA}.job_common TO nightshift_api;`;
