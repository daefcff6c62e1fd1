import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';

import type { Interrupt } from '#jobs';

import { announceDue } from '../harness/announce-due.js';
import type { NightshiftProcess } from '../harness/processes.js';
import { Decider } from './decider.js';
import { followOrders } from './obedient-model.js';
import type { RemoteToolName } from './remote-tools.js';
import { Stage } from './stage.js';
import { secretive, unreachable } from './tool-ledger.js';
import type { Viewer } from './viewer.js';

const unknownOutcomeText = 'The tool was started but its outcome is unknown. It was not repeated.';

describe('`once` tool calls of a killed worker', () => {
  let stage: Stage;
  let decider: Decider;
  /** One job for each story; all lost their worker in the same instant, in the middle of their only call. */
  let jobs: Record<Story, Viewer>;
  let worker: NightshiftProcess;

  const stories = {
    happened: ['send_letter', 'ada'],
    didNotHappen: ['send_letter', 'bob'],
    repeated: ['send_letter', 'carl'],
    reported: ['send_letter', 'dora'],
    expired: ['send_letter', 'eve'],
    beside: ['send_letter', 'fay'],
    verified: ['book_table', 'ada'],
    verifiedNot: ['book_table', unreachable],
    unsure: ['book_table', secretive],
    report: ['post_note', 'ada'],
    fail: ['wire_money', 'ada'],
  } as const satisfies Record<string, readonly [tool: RemoteToolName, to: string]>;
  type Story = keyof typeof stories;

  beforeAll(async () => {
    stage = await Stage.open();
    stage.model.answer(followOrders);
    const [api, victim] = await Promise.all([stage.startApi(), stage.startWorker()]);
    decider = new Decider(api, await stage.createKey(['read', 'approve']));
    const gate = stage.ledger.holdAll();
    const entries = Object.entries(stories).map(async ([story, [tool, to]]) => {
      // One of them has a second, harmless call in its round.
      const calls =
        story === 'beside'
          ? [
              { tool, to },
              { tool: 'look_up', to },
            ]
          : [{ tool, to }];
      return [story, await stage.order(calls)] as const;
    });
    jobs = Object.fromEntries(await Promise.all(entries)) as Record<Story, Viewer>; // one for each story
    await stage.ledger.called(Object.keys(stories).length + 1);
    victim.kill('SIGKILL');
    await victim.exited;
    gate.open();
    worker = await stage.startWorker();
  });

  afterAll(async () => {
    await stage.close();
  });

  const callsOf = ({ jobId }: Viewer) => stage.ledger.calls.filter(({ key }) => key.startsWith(jobId));
  const callOf = async ({ jobId }: Viewer) => (await stage.snapshot(jobId)).calls[0];
  const rowOf = async ({ jobId }: Viewer) => {
    const { rows } = await stage.database.postgres.workerPool.query<Record<string, unknown>>(
      'SELECT idem_key, started_epoch, decision_id, decided_by, status FROM tool_call WHERE job_id = $1 AND ordinal = 1',
      [jobId],
    );
    return rows[0];
  };
  const askedAbout = async ({ jobId }: Viewer): Promise<Interrupt> => {
    const [interrupt] = await stage.waits(jobId);
    if (interrupt === undefined) throw new Error('no person is asked');
    return interrupt;
  };
  /** The job's end, once the request about its call was answered. */
  const decided = async (job: Viewer, answer: object) => {
    const interrupt = await askedAbout(job);
    expect(interrupt).toMatchObject({ kind: 'unknown_outcome', tool: 'send_letter', callId: 'call_1_1' });
    expect(await decider.decide(interrupt, answer)).toMatchObject({ status: 200, body: { status: 'resolved' } });
    await job.ended;
    return { interrupt, ...(await stage.snapshot(job.jobId)) };
  };

  it('complete with the result of the person when the person confirms the effect', async () => {
    const { content, calls } = await decided(jobs.happened, { decision: 'happened', result: 'It is in the box.' });
    expect(calls).toMatchObject([{ status: 'completed', result: 'It is in the box.' }]);
    expect(content).toContain('It is in the box.');
    expect(callsOf(jobs.happened)).toHaveLength(1);
  });

  it('fail with the reason of the person when the person denies the effect', async () => {
    const answer = { decision: 'did_not_happen', reason: 'there was no stamp' };
    const { content, calls, status } = await decided(jobs.didNotHappen, answer);
    expect([status, calls[0]?.status]).toEqual(['completed', 'error']);
    expect(content).toContain('Error executing tool "send_letter": there was no stamp');
    expect(callsOf(jobs.didNotHappen)).toHaveLength(1);
  });

  it('run again with the old key when a person decides to repeat them, and store the decision', async () => {
    const { content, interrupt } = await decided(jobs.repeated, { decision: 'repeat' });
    const key = `${jobs.repeated.jobId}:1:1`;
    expect(callsOf(jobs.repeated).map((call) => [call.key, call.args])).toEqual([
      [key, '{"to":"carl"}'],
      [key, '{"to":"carl"}'],
    ]);
    expect(content).toContain('send_letter done');
    expect(await rowOf(jobs.repeated)).toMatchObject({ status: 'completed', idem_key: key, decision_id: interrupt.id });
  });

  it('report an unknown outcome to the model when a person leaves the decision to it', async () => {
    const { content, calls } = await decided(jobs.reported, { decision: 'report' });
    expect(calls).toMatchObject([{ status: 'interrupted' }]);
    expect(content).toContain(unknownOutcomeText);
    expect(callsOf(jobs.reported)).toHaveLength(1);
  });

  it('report an unknown outcome to the model when the request expires', async () => {
    const interrupt = await askedAbout(jobs.expired);
    await stage.database.postgres.workerPool.query(
      `UPDATE interrupt SET expires_at = clock_timestamp() - interval '1 s' WHERE id = $1`,
      [interrupt.id],
    );
    await announceDue(stage.database);
    await jobs.expired.ended;
    const { content, calls } = await stage.snapshot(jobs.expired.jobId);
    expect([calls[0]?.status, content]).toEqual(['interrupted', expect.stringContaining(unknownOutcomeText)]);
    expect(await decider.decide(interrupt, { decision: 'repeat' })).toMatchObject({
      status: 410,
      body: { code: 'expired', error: 'Request expired' },
    });
  });

  it('repeat a harmless call of the same round without asking a person', async () => {
    const interrupt = await askedAbout(jobs.beside);
    expect((await stage.snapshot(jobs.beside.jobId)).calls.map(({ name, status }) => [name, status])).toEqual([
      ['send_letter', 'interrupted'],
      ['look_up', 'completed'],
    ]);
    await decider.decide(interrupt, { decision: 'happened', result: 'Sent.' });
    await jobs.beside.ended;
    expect((await stage.snapshot(jobs.beside.jobId)).content).toContain('Sent.\nlook_up done');
  });

  it.each([
    { what: 'it happened', story: 'verified', status: 'completed', text: 'book_table was done' },
    { what: 'it did not', story: 'verifiedNot', status: 'error', text: 'did not happen' },
  ] as const)('ask no person when verification shows that $what', async ({ story, status, text }) => {
    const job = jobs[story];
    await job.ended;
    expect(await callOf(job)).toMatchObject({ status });
    expect((await stage.snapshot(job.jobId)).content).toContain(text);
    expect(job.events.filter(({ type }) => type === 'interrupt-opened')).toEqual([]);
    expect(callsOf(job)).toHaveLength(1);
  });

  it('ask a person and show the verification note when verification cannot decide', async () => {
    const interrupt = await askedAbout(jobs.unsure);
    expect(interrupt.request).toMatchObject({ verification: 'The tool server does not say.', tool: 'book_table' });
    expect(await decider.decide(interrupt, { decision: 'report' })).toMatchObject({ status: 200 });
    await jobs.unsure.ended;
  });

  it('report an unknown outcome to the model with onUnknown "report"', async () => {
    await jobs.report.ended;
    expect(await callOf(jobs.report)).toMatchObject({ status: 'interrupted' });
    expect((await stage.snapshot(jobs.report.jobId)).content).toContain(unknownOutcomeText);
    expect(callsOf(jobs.report)).toHaveLength(1);
  });

  it('fail the job with onUnknown "fail"', async () => {
    await jobs.fail.ended;
    expect(await stage.snapshot(jobs.fail.jobId)).toMatchObject({
      status: 'failed',
      error: { code: 'unknown_outcome' },
      calls: [{ status: 'interrupted' }],
    });
    expect(callsOf(jobs.fail)).toHaveLength(1);
  });

  it('keep the open request when the worker that opened it is killed too', async () => {
    const gate = stage.ledger.holdNext();
    const before = stage.ledger.calls.length;
    const job = await stage.order([{ tool: 'send_letter', to: 'gus' }]);
    await stage.ledger.called(before + 1);
    worker.kill('SIGKILL');
    await worker.exited;
    gate.open();
    const second = await stage.startWorker();
    const interrupt = await askedAbout(job);
    second.kill('SIGKILL');
    await second.exited;
    await decider.decide(interrupt, { decision: 'repeat' });
    worker = await stage.startWorker();
    await job.ended;
    expect(await rowOf(job)).toMatchObject({ status: 'completed', decision_id: interrupt.id });
    expect(callsOf(job)).toHaveLength(2);
  });

  it('leave no gap in the events of any viewer, and run again only after a person decides `repeat`', async () => {
    expect(await stage.problems()).toEqual([]);
  });
});
