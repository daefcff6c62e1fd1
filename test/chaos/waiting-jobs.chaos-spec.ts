import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';

import { chat } from './chat.js';
import { Decider } from './decider.js';
import { followOrders, orders } from './obedient-model.js';
import { Stage } from './stage.js';

const letter = (to: string) => ({ tool: 'send_letter', to });

describe('jobs that wait for people', () => {
  let stage: Stage;
  let decider: Decider;

  beforeAll(async () => {
    stage = await Stage.open();
    stage.model.answer(followOrders);
    await stage.policy({ rules: [{ match: 'send_letter', action: 'require_approval' }] });
    await startAll();
  });

  afterAll(async () => {
    await stage.close();
  });

  const startAll = async (worker: Readonly<Record<string, string>> = {}) => {
    const [api] = await Promise.all([stage.startApi(), stage.startWorker(worker)]);
    decider = new Decider(api, await stage.createKey(['read', 'write', 'approve']));
  };
  const lettersTo = (jobId: string) =>
    stage.ledger.calls.filter(({ key }) => key.startsWith(jobId)).map(({ args }) => args);
  const rowsOf = async <Row extends object>(sql: string, values: readonly unknown[] = []) =>
    (await stage.database.postgres.workerPool.query<Row>(sql, [...values])).rows;

  it('survive the end of every process, and run exactly the approved call once after a later decision', async () => {
    const started = await decider.call('/api/jobs', {
      ...{
        threadId: 'a thread',
        messageId: 'an answer',
        messages: [{ role: 'user', content: orders([letter('ada')]) }],
      },
      tools: chat('', ['send_letter']).tools,
    });
    expect(started.status).toBe(202);
    const jobId = String(started.body['jobId']);
    const [asked] = await stage.waits(jobId);
    await stage.killAll();
    await startAll({ WORKER_SLOTS: '1' });
    const [shown] = await decider.open(jobId);
    expect(shown).toMatchObject({ id: asked?.id, request: asked?.request, callId: 'call_1_1' });
    if (shown === undefined) throw new Error('nothing is asked');
    expect(lettersTo(jobId)).toEqual([]);
    expect(await decider.approve(shown)).toMatchObject({ status: 200, body: { outcome: 'approved' } });
    await stage.watch(jobId).ended;
    expect(lettersTo(jobId)).toEqual(['{"to":"ada"}']);
    expect(await stage.snapshot(jobId)).toMatchObject({
      status: 'completed',
      content: 'send_letter done\nApproval receipts: call_1_1 approved by a person.\n',
    });
  });

  it('use no slot and no lease: another job runs in the only slot while twenty of them wait', async () => {
    const waiting = await Promise.all(Array.from({ length: 20 }, (_, n) => stage.order([letter(`person ${n}`)])));
    for (const { jobId } of waiting) await stage.waits(jobId);
    const other = await stage.order([{ tool: 'look_up', to: 'ada' }]);
    await other.ended;
    expect(await stage.snapshot(other.jobId)).toMatchObject({ status: 'completed', content: 'look_up done\n' });
    expect(
      await rowsOf(`SELECT count(*)::int AS jobs, count(lease_owner)::int + count(lease_until)::int AS leases FROM job
        WHERE status = 'waiting'`),
    ).toEqual([{ jobs: 20, leases: 0 }]);
    await Promise.all((await decider.open()).map((asked) => decider.deny(asked)));
    await Promise.all(waiting.map(({ ended }) => ended));
  });

  it('wait twenty times in one round without becoming dead letters', async () => {
    const people = Array.from({ length: 20 }, (_, n) => `person ${n}`);
    const job = await stage.order(people.map(letter));
    const answered: unknown[] = [];
    for (let left = people.length; left > 0; left--) {
      const [asked] = await stage.waits(job.jobId, left);
      if (asked === undefined) throw new Error('nothing is asked');
      answered.push(JSON.stringify({ to: people[Number(asked.callId?.split('_').at(-1)) - 1] }));
      expect(await decider.approve(asked)).toMatchObject({ status: 200 });
    }
    await job.ended;
    expect(await stage.snapshot(job.jobId)).toMatchObject({ status: 'completed' });
    expect(lettersTo(job.jobId)).toEqual(answered);
    expect(job.events.filter(({ type }) => type === 'job-waiting')).toHaveLength(20);
  });

  it('deliver the events 1 to N to every viewer, and open and settle each request once', async () => {
    expect(await stage.problems()).toEqual([]);
  });
});
