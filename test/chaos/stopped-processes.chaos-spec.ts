import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';

import { eventually } from '../harness/eventually.js';
import { createGate, textChunk, textReply, toolCallReply } from '../harness/scripted-reply.js';
import { Stage } from './stage.js';

describe('stopping worker', () => {
  let stage: Stage;

  beforeAll(async () => {
    stage = await Stage.open();
  });

  afterEach(() => {
    stage.model.assertDone();
  });

  afterAll(async () => {
    await stage.close();
  });

  const states = async (ids: readonly string[]) =>
    (
      await stage.database.postgres.workerPool.query<{ status: string; owner: string | null; attempts: number }>(
        'SELECT status, lease_owner AS owner, attempts FROM job WHERE id = ANY($1)',
        [ids],
      )
    ).rows;

  it('releases five running jobs and exits with 0, and another worker ends them', async () => {
    const gate = createGate();
    const worker = await stage.startWorker();
    stage.model.enqueue(...Array.from({ length: 5 }, () => ({ body: [textChunk('Half'), gate] })));
    const viewers = await Promise.all(Array.from({ length: 5 }, (_, n) => stage.ask(`speak ${n}`)));
    await Promise.all(viewers.map((viewer) => viewer.saw('text-delta')));
    expect(await worker.stop()).toEqual({ code: 0, signal: null });
    gate.open();
    const given = { status: 'queued', owner: null, attempts: 0 };
    expect(await states(viewers.map(({ jobId }) => jobId))).toEqual(Array.from({ length: 5 }, () => given));
    stage.model.enqueue(...Array.from({ length: 5 }, () => textReply(['Whole.'])));
    const successor = await stage.startWorker();
    await Promise.all(viewers.map(({ ended }) => ended));
    for (const { jobId } of viewers)
      expect(await stage.snapshot(jobId)).toMatchObject({ status: 'completed', content: 'Whole.' });
    expect(await successor.stop()).toEqual({ code: 0, signal: null });
  });

  it('drains a round that can still commit, and the next worker continues after it', async () => {
    const worker = await stage.startWorker({ WORKER_DRAIN_MS: '20000' });
    const gate = createGate();
    const [opening, ...rest] = toolCallReply([{ id: 'call_1', name: 'charge', arguments: '{}' }]).body;
    stage.model.enqueue({ body: [textChunk('Paying. '), opening ?? '', gate, ...rest] });
    const viewer = await stage.ask('pay', ['charge']);
    await viewer.saw('text-delta');
    worker.kill('SIGTERM');
    await eventually('it has heard of it', () => (worker.output().includes('Stopping') ? true : undefined));
    // The worker claims nothing now: a job accepted from here on waits for another worker.
    const late = await stage.ask('late');
    gate.open();
    expect(await worker.exited).toEqual({ code: 0, signal: null });
    const open = await stage.snapshot(viewer.jobId);
    expect(open).toMatchObject({ status: 'queued', content: 'Paying. ', rounds: [{ number: 1 }], attempt: 0 });
    expect((await states([late.jobId]))[0]).toMatchObject({ status: 'queued' });
    stage.model.answer((request) => textReply([request.body.includes('late') ? 'Late.' : 'Paid.']));
    const successor = await stage.startWorker();
    await Promise.all([viewer.ended, late.ended]);
    expect(await stage.snapshot(viewer.jobId)).toMatchObject({ content: 'Paying. Paid.', attempt: 0 });
    expect(stage.ledger.calls.filter(({ key }) => key.startsWith(viewer.jobId))).toHaveLength(1);
    await successor.stop();
  });

  it('exits with a non-zero code after an unexpected error, and another worker ends its job', async () => {
    const gate = createGate();
    stage.model.enqueue({ body: [textChunk('Half'), gate] });
    const viewer = await stage.ask('speak');
    // pg-boss delivers the job at once; a later sweep throws.
    const worker = await stage.startWorker({ CRASH_POINT: 'throw-async:throw:2' });
    await viewer.saw('text-delta');
    expect(await worker.exited).toMatchObject({ code: 1 });
    gate.open();
    expect(worker.logs().some(({ msg }) => msg === 'an unexpected error stops this process')).toBe(true);
    const successor = await stage.startWorker();
    await viewer.ended;
    expect(await stage.snapshot(viewer.jobId)).toMatchObject({ status: 'completed' });
    await successor.stop();
  });

  it('releases a job whose model sends nothing long before the drain timeout', async () => {
    const gate = createGate();
    const worker = await stage.startWorker({ WORKER_DRAIN_MS: '600000' });
    stage.model.enqueue({ body: [textChunk('Half'), gate] });
    const viewer = await stage.ask('speak');
    await viewer.saw('text-delta');
    worker.kill('SIGTERM');
    // The test itself ends long before the ten minutes of grace.
    expect(await worker.exited).toEqual({ code: 0, signal: null });
    gate.open();
    stage.model.enqueue(textReply(['Whole.']));
    const successor = await stage.startWorker();
    await viewer.ended;
    expect(await stage.snapshot(viewer.jobId)).toMatchObject({ status: 'completed', content: 'Whole.' });
    await successor.stop();
  });

  it('exits at once on a second SIGTERM', async () => {
    const gate = createGate();
    const worker = await stage.startWorker({ WORKER_DRAIN_MS: '600000' });
    stage.model.enqueue({ body: [textChunk('Half'), gate] });
    const viewer = await stage.ask('speak');
    await viewer.saw('text-delta');
    worker.kill('SIGTERM');
    await eventually('the worker stops', () => (worker.output().includes('Stopping after') ? true : undefined));
    const shownAt = performance.now();
    // A signal within 50 ms of another one does not count, and a third signal would end the process without an orderly stop.
    await eventually('a second signal counts', () => (performance.now() - shownAt > 100 ? true : undefined));
    worker.kill('SIGTERM');
    await eventually('the waiting is skipped', () => (worker.output().includes('Stopping at once') ? true : undefined));
    expect(await worker.exited).toEqual({ code: 0, signal: null });
    gate.open();
    stage.model.enqueue(textReply(['Whole.']));
    const successor = await stage.startWorker();
    await viewer.ended;
    await successor.stop();
  });

  it('loses to a concurrent cancel of its job at every point', async () => {
    const gate = createGate();
    const worker = await stage.startWorker();
    stage.model.enqueue({ body: [textChunk('Half'), gate] });
    const viewer = await stage.ask('speak');
    await viewer.saw('text-delta');
    worker.kill('SIGTERM');
    const { workspaceId, id: principal, userId } = stage.owner;
    const scope = { workspaceId, principal, userId, where: () => ({}) };
    const state = await stage.stopper.stop(scope, viewer.jobId);
    expect(['aborted', 'cancel_requested']).toContain(state);
    gate.open();
    expect((await worker.exited).code).toBe(0);
    await eventually('the job is cancelled', async () =>
      (await stage.snapshot(viewer.jobId)).status === 'cancelled' ? true : undefined,
    );
    await viewer.ended;
  });

  it('delivers each event number once to every viewer and repeats no side effect', async () => {
    expect(await stage.problems()).toEqual([]);
  });
});
