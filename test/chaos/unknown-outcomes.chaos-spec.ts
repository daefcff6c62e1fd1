import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';

import type { Interrupt } from '#jobs';

import type { NightshiftProcess } from '../harness/processes.js';
import { Decider } from './decider.js';
import { obey } from './obedient-model.js';
import type { RemoteToolName } from './remote-tools.js';
import { Stage } from './stage.js';
import { secretive, unreachable } from './tool-ledger.js';
import type { Viewer } from './viewer.js';

const toldTheModel = 'The tool was started but its outcome is unknown. It was not repeated.';

describe('when a worker is killed while tools run that may run once', () => {
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
    verified: ['book_seat', 'ada'],
    verifiedNot: ['book_seat', unreachable],
    unsure: ['book_seat', secretive],
    report: ['post_note', 'ada'],
    fail: ['wire_money', 'ada'],
  } as const satisfies Record<string, readonly [tool: RemoteToolName, to: string]>;
  type Story = keyof typeof stories;

  beforeAll(async () => {
    stage = await Stage.open();
    stage.model.answer(obey);
    const [api, victim] = await Promise.all([stage.startApi(), stage.startWorker()]);
    decider = new Decider(api, await stage.createKey(['read', 'approve']));
    const gate = stage.ledger.holdAll();
    const entries = Object.entries(stories).map(async ([story, [tool, to]]) => {
      // One of them has a second call in its round that harms nobody.
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
    const { rows } = await stage.database.postgres.engine.query<Record<string, unknown>>(
      'SELECT idem_key, started_epoch, decision_id, decided_by, status FROM tool_call WHERE job_id = $1 AND ordinal = 1',
      [jobId],
    );
    return rows[0];
  };
  const askedAbout = async ({ jobId }: Viewer): Promise<Interrupt> => {
    const [interrupt] = await stage.waits(jobId);
    if (interrupt === undefined) throw new Error('nobody is asked');
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

  it('a person says that it happened: the call is completed, and the model reads that result', async () => {
    const { content, calls } = await decided(jobs.happened, { decision: 'happened', result: 'It is in the box.' });
    expect(calls).toMatchObject([{ status: 'completed', result: 'It is in the box.' }]);
    expect(content).toContain('It is in the box.');
    expect(callsOf(jobs.happened)).toHaveLength(1);
  });

  it('a person says that it did not: the call is an error, and the model reads why', async () => {
    const answer = { decision: 'did_not_happen', reason: 'there was no stamp' };
    const { content, calls, status } = await decided(jobs.didNotHappen, answer);
    expect([status, calls[0]?.status]).toEqual(['completed', 'error']);
    expect(content).toContain('Error executing tool "send_letter": there was no stamp');
    expect(callsOf(jobs.didNotHappen)).toHaveLength(1);
  });

  it('a person has it repeated: it is called again with its old key, and the decision stands on its row', async () => {
    const { content, interrupt } = await decided(jobs.repeated, { decision: 'repeat' });
    const key = `${jobs.repeated.jobId}:1:1`;
    expect(callsOf(jobs.repeated).map((call) => [call.key, call.args])).toEqual([
      [key, '{"to":"carl"}'],
      [key, '{"to":"carl"}'],
    ]);
    expect(content).toContain('send_letter done');
    expect(await rowOf(jobs.repeated)).toMatchObject({ status: 'completed', idem_key: key, decision_id: interrupt.id });
  });

  it('a person leaves it to the model, which reads that the outcome is unknown', async () => {
    const { content, calls } = await decided(jobs.reported, { decision: 'report' });
    expect(calls).toMatchObject([{ status: 'interrupted' }]);
    expect(content).toContain(toldTheModel);
    expect(callsOf(jobs.reported)).toHaveLength(1);
  });

  it('nobody decides until the request expires, and the model reads that the outcome is unknown', async () => {
    const interrupt = await askedAbout(jobs.expired);
    await stage.database.postgres.engine.query(
      `UPDATE interrupt SET expires_at = clock_timestamp() - interval '1 s' WHERE id = $1`,
      [interrupt.id],
    );
    await jobs.expired.ended;
    const { content, calls } = await stage.snapshot(jobs.expired.jobId);
    expect([calls[0]?.status, content]).toEqual(['interrupted', expect.stringContaining(toldTheModel)]);
    expect(await decider.decide(interrupt, { decision: 'repeat' })).toMatchObject({
      status: 410,
      body: { code: 'expired', error: 'Request expired' },
    });
  });

  it('what harms nobody beside it is called again without asking', async () => {
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
    { what: 'it happened', story: 'verified', status: 'completed', text: 'book_seat was done' },
    { what: 'it did not', story: 'verifiedNot', status: 'error', text: 'did not happen' },
  ] as const)('the far side is certain that $what: nobody is asked', async ({ story, status, text }) => {
    const job = jobs[story];
    await job.ended;
    expect(await callOf(job)).toMatchObject({ status });
    expect((await stage.snapshot(job.jobId)).content).toContain(text);
    expect(job.events.filter(({ type }) => type === 'interrupt-opened')).toEqual([]);
    expect(callsOf(job)).toHaveLength(1);
  });

  it('the far side does not know: a person is asked, and told what it said', async () => {
    const interrupt = await askedAbout(jobs.unsure);
    expect(interrupt.request).toMatchObject({ verification: 'The tool server does not say.', tool: 'book_seat' });
    expect(await decider.decide(interrupt, { decision: 'report' })).toMatchObject({ status: 200 });
    await jobs.unsure.ended;
  });

  it('a tool that asks for it leaves the decision to the model', async () => {
    await jobs.report.ended;
    expect(await callOf(jobs.report)).toMatchObject({ status: 'interrupted' });
    expect((await stage.snapshot(jobs.report.jobId)).content).toContain(toldTheModel);
    expect(callsOf(jobs.report)).toHaveLength(1);
  });

  it('a tool that asks for it fails its job', async () => {
    await jobs.fail.ended;
    expect(await stage.snapshot(jobs.fail.jobId)).toMatchObject({
      status: 'failed',
      error: { code: 'unknown_outcome' },
      calls: [{ status: 'interrupted' }],
    });
    expect(callsOf(jobs.fail)).toHaveLength(1);
  });

  it('the worker that asked is killed too: the question stands, and the answer finds its way', async () => {
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

  it('every viewer has seen 1 to N, and nothing was done more often than somebody decided', async () => {
    expect(await stage.problems()).toEqual([]);
  });
});
