import type pg from 'pg';
import { PgBoss } from 'pg-boss';

import { QUEUE_SCHEMA, queues, type QueueSettings } from './queue-list.js';

/**
 * Installs or upgrades pg-boss's schema as the migrating login, creates the queues that are missing, updates the settings of the
 * others, and grants what the serving roles need: the API sends (it reads ids and settings, never a message), the engine does everything else.
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
  GRANT USAGE ON SCHEMA ${QUEUE_SCHEMA} TO nightshift_api, nightshift_engine;
  GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA ${QUEUE_SCHEMA} TO nightshift_engine;
  GRANT USAGE ON ALL SEQUENCES IN SCHEMA ${QUEUE_SCHEMA} TO nightshift_engine;
  GRANT SELECT ON ${QUEUE_SCHEMA}.version, ${QUEUE_SCHEMA}.queue TO nightshift_api;
  GRANT INSERT, SELECT (id, start_after) ON ${QUEUE_SCHEMA}.job, ${QUEUE_SCHEMA}.job_common TO nightshift_api;`;
