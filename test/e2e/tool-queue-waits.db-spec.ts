import { afterAll, beforeAll, expect, it } from '@jest/globals';

import { defineTool, ToolQueueSweeper, ToolRegistry, ToolResults, ToolWorker } from '#tools';

import { openApprovalStage } from '../harness/approval-stage.js';
import { createTestDatabase, type TestDatabase } from '../harness/database.js';
import { eventually } from '../harness/eventually.js';
import { toolCallReply } from '../harness/scripted-reply.js';
import { openTestToolQueue, type SentCall, type TestToolQueue } from '../harness/tool-queue.js';

/** A quarter of an hour, instead of the usual five minutes. */
const env = { TOOL_QUEUE_TTL_MS: '900000' };

let database: TestDatabase;
let queue: TestToolQueue;

beforeAll(async () => {
  database = await createTestDatabase();
  queue = await openTestToolQueue(database, { env });
  await queue.app.get(ToolResults).start();
});
afterAll(async () => {
  await queue.close();
  await database.close();
});

const waited = async (minutes: number): Promise<SentCall> => {
  const sent = await queue.sendOne('once');
  await queue.rows(`UPDATE tool_call SET queued_at = queued_at - $2::int * interval '1 minute' WHERE id = $1`, [
    sent.id,
    minutes,
  ]);
  return sent;
};
const tooLate = 'Error executing tool "once": it was not started within 900000 ms';

it('the tool queue ends an unclaimed call after its queue timeout, and none before', async () => {
  const [early, late] = [await waited(6), await waited(16)];
  await queue.app.get(ToolQueueSweeper).sweep();
  expect(await queue.callOf(early)).toMatchObject({ status: 'running' });
  expect(await queue.callOf(late)).toMatchObject({ status: 'timed_out', error: { message: tooLate } });
});

it('the tool queue runs a call that is claimed within its queue timeout, and none after it', async () => {
  const [early, late] = [await waited(6), await waited(16)];
  queue.app.get(ToolWorker).start();
  for (const count of [1, 2]) (await queue.handling(count)).finish('done'); // the one that was left before, and this one
  expect(await queue.reached(early, 'completed')).toMatchObject({ result: 'done' });
  expect(await queue.reached(late, 'timed_out')).toMatchObject({ error: { message: tooLate } });
});

it('a chat request sets the queue timeout of its calls', async () => {
  const stage = await openApprovalStage(env);
  stage.engine.app.get(ToolRegistry).register(
    defineTool({
      name: 'dig',
      description: 'd',
      input: { type: 'object' },
      isolation: 'queue',
      execute: () => 'gold',
    }),
  );
  stage.model.enqueue(toolCallReply([{ id: 'call_1', name: 'dig', arguments: '{}' }]));
  await stage.ask(['dig']);
  const request = await eventually('it is sent', async () => {
    const rows = await stage.rows<{ ttl: number }>(
      `SELECT (data->'metadata'->>'ttl_ms')::int AS ttl FROM pgboss.job WHERE name = 'tool-execution'`,
    );
    return rows[0];
  });
  expect(request).toEqual({ ttl: 900_000 });
  await stage.close();
});
