import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';

import { ToolResults, ToolWorker } from '#tools';

import { createTestDatabase, type TestDatabase } from '../harness/database.js';
import { eventually } from '../harness/eventually.js';
import { openTestToolQueue, sendCalls, type TestToolQueue } from '../harness/tool-queue.js';

describe('slots of a tool process', () => {
  let database: TestDatabase;
  const opened: TestToolQueue[] = [];

  beforeEach(async () => {
    database = await createTestDatabase();
  });

  afterEach(async () => {
    for (const queue of opened.splice(0)) await queue.close();
    await database.close();
  });

  const open = async (env: Readonly<Record<string, string>> = {}) => {
    const queue = await openTestToolQueue(database, { env });
    opened.push(queue);
    return queue;
  };
  const begin = async (queue: TestToolQueue) => {
    await queue.app.get(ToolResults).start();
    queue.app.get(ToolWorker).start();
  };
  /** Resolves once so many calls wait: one that a process has no slot for is active until it is given back. */
  const waits = (queue: TestToolQueue, count: number) =>
    eventually(`${count} calls wait`, async () => ((await waiting(queue)) === count ? true : undefined));
  const waiting = async (queue: TestToolQueue) =>
    (await queue.rows(`SELECT 1 FROM pgboss.job WHERE name = 'tool-execution' AND state = 'created'`)).length;

  it('run one call of a tool at its limit and leave slots for other tools', async () => {
    const queue = await open({ TOOL_SLOTS_PER_TOOL: '1' });
    const [first, second] = await queue.send('pure', 'pure', 'idempotent');
    if (first === undefined || second === undefined) throw new Error('nothing was sent');
    await begin(queue);
    const running = [await queue.handling(1), await queue.handling(2)];
    expect(running.map(({ name }) => name).sort()).toEqual(['idempotent', 'pure']);
    await waits(queue, 1);
    running.find(({ name }) => name === 'pure')?.finish('one');
    (await queue.handling(3)).finish('two');
    const ended = await Promise.all([first, second].map((sent) => queue.reached(sent, 'completed')));
    expect(ended.map(({ result }) => result).sort()).toEqual(['one', 'two']);
  });

  it('run one call of a tool at its limit although the tool has a concurrency in each workspace', async () => {
    const queue = await open({ TOOL_SLOTS_PER_TOOL: '1' });
    const other = await open();
    const limited = { name: 'pure', concurrency: 2 };
    await sendCalls(queue.app, queue.workspaceId, [limited]);
    await sendCalls(other.app, other.workspaceId, [limited]);
    await queue.send('idempotent');
    await begin(queue);
    const running = [await queue.handling(1), await queue.handling(2)];
    expect(running.map(({ name }) => name).sort()).toEqual(['idempotent', 'pure']);
    await waits(queue, 1);
    running.find(({ name }) => name === 'pure')?.finish('one');
    expect((await queue.handling(3)).name).toBe('pure');
  });

  it('serve another workspace while one has many calls', async () => {
    const noisy = await open({ TOOL_SLOTS: '3', TOOL_SLOTS_PER_WORKSPACE: '2' });
    const quiet = await open();
    for (let n = 0; n < 4; n++) await noisy.send('pure', 'idempotent');
    const sent = await quiet.sendOne('once');
    await begin(noisy);
    const running = await Promise.all([1, 2, 3].map((n) => noisy.handling(n)));
    expect(running.filter(({ context }) => context.workspaceId === sent.workspaceId)).toHaveLength(1);
    await waits(noisy, 6);
  });

  it('serve another workspace that calls the tool of a workspace at its limit', async () => {
    const noisy = await open({ TOOL_SLOTS: '3', TOOL_SLOTS_PER_WORKSPACE: '1' });
    const quiet = await open();
    for (let n = 0; n < 3; n++) await noisy.sendOne('pure');
    const sent = await quiet.sendOne('pure');
    await begin(noisy);
    const running = await Promise.all([1, 2].map((n) => noisy.handling(n)));
    expect(running.filter(({ context }) => context.workspaceId === sent.workspaceId)).toHaveLength(1);
    await waits(noisy, 2);
  });

  it('run no more calls of a tool in a workspace than its concurrency, in all processes together', async () => {
    const [queue, other] = [await open(), await open()];
    const limited = { name: 'pure', concurrency: 2 };
    const sent = await sendCalls(queue.app, queue.workspaceId, [limited, limited, limited]);
    await begin(queue);
    const [first] = [await queue.handling(1), await queue.handling(2)];
    await begin(other);
    const [marker] = await sendCalls(other.app, other.workspaceId, [limited]);
    if (marker === undefined) throw new Error('nothing was sent');
    await eventually('a call of another workspace runs', async () =>
      (await queue.callOf(marker)).taken ? true : undefined,
    );
    await waits(queue, 1);
    first.finish('done');
    await eventually('the third call runs', async () => {
      const epochs = await Promise.all(sent.map(async (call) => (await queue.callOf(call)).exec_epoch));
      return epochs.every((epoch) => epoch === 1) ? true : undefined;
    });
  });

  it('leave a call to another process that has a slot for its tool', async () => {
    const full = await open({ TOOL_SLOTS_PER_TOOL: '1' });
    const free = await open();
    const [first, second] = await full.send('pure', 'pure');
    if (first === undefined || second === undefined) throw new Error('nothing was sent');
    await begin(full);
    (await full.handling(1)).finish(1);
    const held = await full.handling(2);
    const third = await full.sendOne('pure');
    await begin(free);
    (await free.handling(1)).finish('elsewhere');
    expect(await full.reached(third, 'completed')).toMatchObject({ result: 'elsewhere' });
    held.finish(2);
    await Promise.all([first, second].map((sent) => full.reached(sent, 'completed')));
  });

  it('serve all calls in turn as slots become free', async () => {
    const queue = await open({ TOOL_SLOTS: '2' });
    const sent = (await Promise.all(Array.from({ length: 4 }, () => queue.send('pure', 'once')))).flat();
    await begin(queue);
    for (let n = 1; n <= sent.length; n++) {
      const { finish } = await queue.handling(n);
      finish(n);
    }
    await eventually('all have ended', async () =>
      (await queue.rows(`SELECT 1 FROM tool_call WHERE status <> 'completed'`)).length === 0 ? true : undefined,
    );
  });
});
