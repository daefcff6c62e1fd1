import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';

import { eventually } from '../harness/eventually.js';
import type { NightshiftProcess } from '../harness/processes.js';
import { createGate, type Gate, textChunk, textReply, toolCallReply } from '../harness/scripted-reply.js';
import { sleeper, Stage } from './stage.js';
import type { Viewer } from './viewer.js';

const call = (name: string) => toolCallReply([{ id: 'call_1', name, arguments: '{}' }]);

describe('worker that wakes up after its lease has expired', () => {
  let stage: Stage;
  let paused: NightshiftProcess;
  let successor: NightshiftProcess;

  beforeAll(async () => {
    stage = await Stage.open();
    // Only the sleeper's leases are to lapse, however busy the machine is.
    [paused, successor] = await Promise.all([stage.startWorker(sleeper), stage.startWorker({ LEASE_MS: '20000' })]);
  });

  afterEach(() => {
    stage.model.assertDone();
  });

  afterAll(async () => {
    await stage.close();
  });

  /**
   * Has `paused` take the job, freezes it once `reached`, opens what it waits for, so that the answer lies in its socket, and
   * lets the successor end the job. What the sleeper does after it woke up is what the caller looks at.
   */
  const oversleep = async (ask: () => Promise<Viewer>, reached: (viewer: Viewer) => Promise<void>, answer: Gate) => {
    successor.kill('SIGSTOP');
    const viewer = await ask();
    await reached(viewer);
    paused.kill('SIGSTOP');
    answer.open();
    successor.kill('SIGCONT');
    await viewer.ended;
    const before = {
      requests: stage.model.requests.length,
      calls: stage.ledger.calls.length,
      log: await logOf(viewer),
    };
    await wake(viewer);
    await sleeperIsFine();
    const after = { requests: stage.model.requests.length, calls: stage.ledger.calls.length, log: await logOf(viewer) };
    // The job that showed that the sleeper works again cost one request.
    expect(after).toEqual({ ...before, requests: before.requests + 1 });
    return viewer;
  };
  /** Wakes the paused worker until it logs that it has lost this job. */
  const wake = ({ jobId }: Viewer) =>
    eventually('the sleeper notices', () => {
      paused.kill('SIGCONT');
      const isLost = paused
        .logs()
        .some((line) => line['msg'] === 'run stopped without ending its job' && line['jobId'] === jobId);
      return isLost ? true : undefined;
    });
  const rows = async (sql: string, jobId: string): Promise<object[]> =>
    (await stage.database.postgres.workerPool.query<object>(sql, [jobId])).rows;
  const logOf = ({ jobId }: Viewer) =>
    rows('SELECT seq, epoch, type, body FROM job_event WHERE job_id = $1 ORDER BY seq', jobId);
  /** A job that only the sleeper can take ends well. */
  const sleeperIsFine = async () => {
    successor.kill('SIGSTOP');
    stage.model.enqueue(textReply(['Awake.']));
    const viewer = await stage.ask('awake?');
    await viewer.ended;
    successor.kill('SIGCONT');
    expect(await stage.snapshot(viewer.jobId)).toMatchObject({ status: 'completed', content: 'Awake.' });
  };
  const oldRows = (jobId: string) =>
    rows(
      `SELECT 1 FROM job_event e WHERE job_id = $1 AND epoch = 1 AND seq > (SELECT min(seq) FROM job_event
          WHERE job_id = $1 AND epoch = 2)`,
      jobId,
    );

  it('writes no text, and the job has the text of its successor', async () => {
    const gate = createGate();
    stage.model.enqueue({ body: [textChunk('Half'), gate, ...textReply([' and more.']).body] }, textReply(['Whole.']));
    const { jobId } = await oversleep(
      () => stage.ask('speak'),
      (viewer) => viewer.saw('text-delta'),
      gate,
    );
    expect(await oldRows(jobId)).toEqual([]);
    expect(await stage.snapshot(jobId)).toMatchObject({ status: 'completed', content: 'Whole.' });
  });

  it('does not run a tool that its model requests late', async () => {
    const gate = createGate();
    stage.model.enqueue({ body: [textChunk('Let me'), gate, ...call('post_note').body] }, textReply(['No letter.']));
    const { jobId } = await oversleep(
      () => stage.ask('write', ['post_note']),
      (viewer) => viewer.saw('text-delta'),
      gate,
    );
    expect(stage.ledger.calls.filter(({ key }) => key.startsWith(jobId))).toEqual([]);
  });

  it('drops the result of an idempotent tool and sends no model request', async () => {
    const gate = stage.ledger.holdNext();
    const before = stage.ledger.calls.length;
    stage.model.enqueue(call('charge'), textReply(['Paid.']));
    const { jobId } = await oversleep(
      () => stage.ask('pay', ['charge']),
      () => stage.ledger.called(before + 1),
      gate,
    );
    expect(await oldRows(jobId)).toEqual([]);
    expect(stage.ledger.calls.filter(({ key }) => key.startsWith(jobId)).map(({ epoch }) => epoch)).toEqual([1, 2]);
  });

  it('sends no model request after a pure tool', async () => {
    const gate = stage.ledger.holdNext();
    const before = stage.ledger.calls.length;
    stage.model.enqueue(call('look_up'), textReply(['Found.']));
    await oversleep(
      () => stage.ask('look', ['look_up']),
      () => stage.ledger.called(before + 1),
      gate,
    );
  });

  it('leaves a `once` call interrupted although its result arrived', async () => {
    const gate = stage.ledger.holdNext();
    const before = stage.ledger.calls.length;
    stage.model.enqueue(call('post_note'), textReply(['I do not know.']));
    const { jobId } = await oversleep(
      () => stage.ask('write', ['post_note']),
      () => stage.ledger.called(before + 1),
      gate,
    );
    expect(await oldRows(jobId)).toEqual([]);
    expect((await stage.snapshot(jobId)).calls).toMatchObject([{ name: 'post_note', status: 'interrupted' }]);
  });

  it('sends no call of a committed round, which the next worker sends once', async () => {
    // The process stops itself there: its timers are late, and its next step would be the call, over an open connection.
    await paused.stop();
    paused = await stage.startWorker({ ...sleeper, CRASH_POINT: 'after-round-commit:stop:2' });
    stage.model.enqueue(call('charge'), call('post_note'), textReply(['No letter.']));
    successor.kill('SIGSTOP');
    const viewer = await stage.ask('write', ['charge', 'post_note']);
    await viewer.saw('tool-call', 2);
    successor.kill('SIGCONT');
    await viewer.ended;
    await wake(viewer);
    await sleeperIsFine();
    const called = stage.ledger.calls.filter(({ key }) => key.startsWith(viewer.jobId));
    expect(called.map(({ tool }) => tool)).toEqual(['charge', 'post_note']);
    expect((await stage.snapshot(viewer.jobId)).calls).toMatchObject([
      { status: 'completed' },
      { status: 'completed' },
    ]);
  });

  it('cannot commit a result while its successor runs the same tool', async () => {
    await paused.stop();
    paused = await stage.startWorker({ ...sleeper, CRASH_POINT: 'before-tool-commit:stop' });
    const before = stage.ledger.calls.length;
    stage.model.enqueue(call('charge'), textReply(['Paid.']));
    successor.kill('SIGSTOP');
    const viewer = await stage.ask('pay', ['charge']);
    await stage.ledger.called(before + 1);
    const gate = stage.ledger.holdNext();
    successor.kill('SIGCONT');
    await stage.ledger.called(before + 2);
    await wake(viewer);
    gate.open();
    await viewer.ended;
    expect(await oldRows(viewer.jobId)).toEqual([]);
    // The successor was not disturbed: no other worker took over from it.
    expect(viewer.events.filter(({ type }) => type === 'job-started')).toHaveLength(2);
    expect((await stage.snapshot(viewer.jobId)).calls).toMatchObject([{ name: 'charge', status: 'completed' }]);
  });

  it('delivers each event number once to every viewer and repeats no side effect', async () => {
    expect(await stage.problems()).toEqual([]);
  });
});
