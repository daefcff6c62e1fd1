import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import fc from 'fast-check';

import type { Interrupt } from '#jobs';

import { openEventStream } from '../harness/event-stream.js';
import { Decider, type DecisionReply } from './decider.js';
import { followOrders } from './obedient-model.js';
import { Stage } from './stage.js';
import type { Viewer } from './viewer.js';

const letter = (to: string) => ({ tool: 'send_letter', to });
const people = ['ada', 'bob', 'carl', 'dora', 'eve'];

describe('approvals through two API processes and two workers', () => {
  let stage: Stage;
  let key: string;
  /** The same person at both API processes. */
  let deciders: readonly [Decider, Decider];

  beforeAll(async () => {
    stage = await Stage.open();
    stage.model.answer(followOrders);
    await stage.policy({ rules: [{ match: 'send_letter', action: 'require_approval' }] });
    key = await stage.createKey(['read', 'write', 'approve']);
    const [red, blue] = await Promise.all([
      ...[stage.startApi(), stage.startApi()],
      ...[stage.startWorker(), stage.startWorker()],
    ]);
    if (red === undefined || blue === undefined) throw new Error('two apis have started');
    deciders = [new Decider(red, key), new Decider(blue, key)];
  });

  afterAll(async () => {
    await stage.close();
  });

  /** Ten jobs that ask about five letters each; all requests, in a random order. */
  const fiftyRequests = async () => {
    const jobs = await Promise.all(Array.from({ length: 10 }, () => stage.order(people.map(letter))));
    const asked = (await Promise.all(jobs.map(({ jobId }) => stage.waits(jobId, people.length)))).flat();
    const [shuffled = []] = fc.sample(fc.shuffledSubarray(asked, { minLength: asked.length }), 1);
    return { jobs, asked: shuffled };
  };
  const asksFor = ({ request }: Interrupt) =>
    /(?<="?to"?: ?"?)\w+/.exec(String(request['argumentsPreview']))?.[0] ?? '';
  const oneRequest = async () => {
    const job = await stage.order([letter('ada')]);
    const [asked] = await stage.waits(job.jobId);
    if (asked === undefined) throw new Error('nothing is asked');
    return { job, asked };
  };
  const lettersOf = ({ jobId }: Pick<Viewer, 'jobId'>) =>
    stage.ledger.calls.filter(({ key: of }) => of.startsWith(jobId)).map(({ args }) => args);
  const toAll = [...people].map((to) => JSON.stringify({ to }));
  const outcome = ({ status, body }: DecisionReply) => `${status} ${String(body['outcome'])}`;

  it('count once when each of fifty is sent three times in any order, and each letter is sent once', async () => {
    const { jobs, asked } = await fiftyRequests();
    const clicks = asked.flatMap((one, i) =>
      [0, 1, 0].map((start) => deciders[(start + i) % 2 === 0 ? 0 : 1].approve(one)),
    );
    expect(new Set((await Promise.all(clicks)).map(outcome))).toEqual(new Set(['200 approved']));
    await Promise.all(jobs.map(({ ended }) => ended));
    expect(jobs.map((job) => lettersOf(job).toSorted())).toEqual(jobs.map(() => toAll));
    for (const { jobId } of jobs) expect(await stage.snapshot(jobId)).toMatchObject({ status: 'completed' });
  });

  it('keep one decision when fifty approvals race with fifty denials, and run the call only if it was approved', async () => {
    const { jobs, asked } = await fiftyRequests();
    const answers = await Promise.all(
      asked.map(async (one, i) => {
        const [red, blue] = deciders;
        const [approval, denial] = await Promise.all(
          i % 2 === 0 ? [red.approve(one), blue.deny(one)] : [blue.approve(one), red.deny(one)],
        );
        const outcomes = [approval, denial].map(outcome);
        // The later request gets the decision that was stored.
        expect([
          ['200 approved', '409 approved'],
          ['409 denied', '200 denied'],
        ]).toContainEqual(outcomes);
        return { jobId: one.jobId, to: asksFor(one), isApproved: approval.status === 200 };
      }),
    );
    await Promise.all(jobs.map(({ ended }) => ended));
    for (const job of jobs) {
      const approved = answers.filter(({ jobId, isApproved }) => jobId === job.jobId && isApproved);
      expect(lettersOf(job).toSorted()).toEqual(approved.map(({ to }) => JSON.stringify({ to })).toSorted());
    }
    expect(new Set(answers.map(({ isApproved }) => isApproved)).size).toBe(2);
  });

  it('leave the request open when the API process dies before the commit, and another process accepts the answer', async () => {
    const { job, asked } = await oneRequest();
    const victim = await stage.startApi({ CRASH_POINT: 'in-decision:kill' });
    await expect(new Decider(victim, key).approve(asked)).rejects.toThrow('fetch failed');
    expect((await victim.exited).signal).toBe('SIGKILL');
    expect((await deciders[0].open(job.jobId)).map(({ id }) => id)).toEqual([asked.id]);
    expect(outcome(await deciders[0].approve(asked))).toBe('200 approved');
    await job.ended;
    expect(lettersOf(job)).toEqual(['{"to":"ada"}']);
  });

  it('stay valid when the API process dies before it can respond: the job continues, and a repeated answer gets the same response', async () => {
    const { job, asked } = await oneRequest();
    const victim = await stage.startApi({ CRASH_POINT: 'after-decision:kill' });
    await expect(new Decider(victim, key).approve(asked)).rejects.toThrow('fetch failed');
    expect((await victim.exited).signal).toBe('SIGKILL');
    expect(outcome(await deciders[0].approve(asked))).toBe('200 approved');
    expect(outcome(await deciders[1].deny(asked))).toBe('409 approved');
    await job.ended;
    expect(lettersOf(job)).toEqual(['{"to":"ada"}']);
  });

  it('appear live once each, and a returning viewer gets all open ones', async () => {
    const job = await stage.order([letter('ada'), letter('bob'), { tool: 'charge', to: 'carl' }]);
    const asked = await stage.waits(job.jobId, 2);
    const stream = (query: string) =>
      openEventStream(`${deciders[1].url}/api/jobs/${job.jobId}/stream${query}`, { authorization: `Bearer ${key}` });
    const live = await stream('?after=0');
    const snapshotOf = async () => {
      const late = await stream('');
      const { data } = await late.until(({ event }) => event === 'snapshot');
      late.leave();
      return data['interrupts'] as readonly Readonly<Record<string, unknown>>[]; // the contract's shape
    };
    const shown = asked.map(({ id: interruptId, kind, callId, title, expiresAt, request }) => {
      return expect.objectContaining({ interruptId, kind, callId, title, expiresAt, request });
    });
    expect(await snapshotOf()).toEqual(shown);
    const [first, second] = asked;
    if (first === undefined || second === undefined) throw new Error('two are asked');
    await deciders[0].deny(first);
    expect(await snapshotOf()).toEqual(shown.slice(1));
    await deciders[0].approve(second);
    await live.until(({ event }) => event === 'job-finished');
    const ids = (type: string) =>
      live.frames.filter(({ event }) => event === type).map(({ data }) => data['interruptId']);
    expect(ids('interrupt-opened').toSorted()).toEqual(asked.map(({ id }) => id));
    expect(ids('interrupt-resolved')).toEqual(asked.map(({ id }) => id));
  });

  it('deliver the events 1 to N to every viewer, and open and settle each request once', async () => {
    expect(await stage.problems()).toEqual([]);
  });
});
