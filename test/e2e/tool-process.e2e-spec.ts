import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';

import { createTestDatabase, TEST_SECRET, type TestDatabase } from '../harness/database.js';
import { eventually } from '../harness/eventually.js';
import { freePort } from '../harness/free-port.js';
import { type NightshiftProcess, startProcess } from '../harness/processes.js';
import { openTestToolQueue, type TestToolQueue } from '../harness/tool-queue.js';

describe('tool worker process', () => {
  let database: TestDatabase;
  let queue: TestToolQueue;
  const running: NightshiftProcess[] = [];

  beforeAll(async () => {
    database = await createTestDatabase();
    queue = await openTestToolQueue(database);
  });

  afterEach(async () => {
    for (const process of running.splice(0)) await process.stop();
  });

  afterAll(async () => {
    await queue.close();
    await database.close();
  });

  const start = async (role: 'tools' | 'worker', env: Readonly<Record<string, string>> = {}) => {
    const databaseUrl = database.urls.owner;
    const process = await startProcess({ role, databaseUrl, secret: TEST_SECRET, env });
    running.push(process);
    return process;
  };

  it.each([
    ['tools', {}],
    ['worker', { WORKER_QUEUES: 'tool-execution' }],
  ] as const)('as role %s with %j runs calls, claims no jobs and ends on its signal', async (role, env) => {
    const started = await start(role, { ...env, WORKER_PORT: await freePort() });
    const health = started.healthUrl ?? '';
    expect((await fetch(`${health}/readyz`)).status).toBe(200);
    const call = await queue.sendOne('vanished');
    // The response stays in the queue until a worker reads it.
    await eventually('it has answered', async () => {
      const rows = await queue.rows(
        `SELECT 1 FROM pgboss.job WHERE name = 'tool-results' AND data->>'status' = 'error'`,
      );
      return rows.length > 0 ? true : undefined;
    });
    // What it has answered it counts a moment later.
    const metrics = await eventually('it has counted its answer', async () => {
      const text = await (await fetch(`${health}/metrics`)).text();
      return text.includes('nightshift_tool_queue_answers_total{status="error"} 1') ? text : undefined;
    });
    expect(metrics).toContain('tool_queue_depth 0');
    expect(await queue.jobOf(call)).toMatchObject({ status: 'waiting' });
    expect(await started.stop()).toEqual({ code: 0, signal: null });
    expect(started.output()).not.toContain('Still open');
    await queue.rows(`DELETE FROM pgboss.job WHERE name = 'tool-results'`);
  });
});
