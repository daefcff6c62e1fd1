import { setTimeout } from 'node:timers/promises';

import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import fc from 'fast-check';

import { openEventStream } from '../harness/event-stream.js';
import { eventually } from '../harness/eventually.js';
import type { NightshiftProcess } from '../harness/processes.js';
import { Decider } from './decider.js';
import { obey, type Order } from './obedient-model.js';
import { Stage } from './stage.js';
import type { Viewer } from './viewer.js';

/** Nobody dies by accident: a machine that is busy with other things must not lose leases here. */
const calm = { LEASE_MS: '20000' };
const letter = (to: string): Order => ({ tool: 'send_letter', to });
const charge: Order = { tool: 'charge', to: 'ada' };
/** Jobs that race at the same time. */
const atOnce = 15;

/** A request as a stream has shown it. */
interface Asked {
  readonly id: string;
  readonly request: object;
}

describe('answers race', () => {
  let stage: Stage;
  let api: NightshiftProcess;
  let workers: readonly NightshiftProcess[];
  let decider: Decider;
  let key: string;

  beforeAll(async () => {
    stage = await Stage.open();
    stage.model.answer(obey);
    await stage.policy({ rules: [{ match: 'send_letter', action: 'require_approval' }] });
    key = await stage.createKey(['read', 'write', 'approve']);
    [api, ...workers] = await Promise.all([stage.startApi(), stage.startWorker(calm), stage.startWorker(calm)]);
    decider = new Decider(api, key);
  });

  afterAll(async () => {
    await stage.close();
  });

  /** Resolves with the first `count` requests in the instant in which the job's stream shows the last of them. */
  const shown = async ({ jobId }: Viewer, count: number): Promise<readonly Asked[]> => {
    const url = `${api.url ?? ''}/api/jobs/${jobId}/stream?after=0`;
    const stream = await openEventStream(url, { authorization: `Bearer ${key}` });
    const opened = () => stream.frames.filter(({ event }) => event === 'interrupt-opened');
    await stream.until(() => opened().length >= count);
    stream.leave();
    // The contract's shape.
    return opened().map(({ data }) => ({ id: String(data['interruptId']), request: data['request'] as object }));
  };
  /** Has a job for each of `given` live its story, some at once; they have all ended when it resolves. */
  const runAll = async <T>(
    given: readonly T[],
    calls: readonly Order[],
    story: (job: Viewer, by: T) => Promise<void>,
  ) => {
    const jobs: Viewer[] = [];
    const left = [...given];
    const runner = async () => {
      for (let by = left.shift(); by !== undefined; by = left.shift()) {
        const job = await stage.order(calls);
        jobs.push(job);
        await story(job, by);
        await job.ended;
      }
    };
    await Promise.all(Array.from({ length: atOnce }, runner));
    return jobs;
  };
  /** Resolves when the row of the job leaves it no more than this to work. */
  const nearItsEnd = ({ jobId }: Viewer, leftMs: number) =>
    eventually('its time is almost over', async () => {
      const { rows } = await stage.database.postgres.engine.query(
        `SELECT 1 FROM job WHERE id = $1 AND (finished_at IS NOT NULL OR deadline_at - clock_timestamp() <= $2 * interval '1 ms')`,
        [jobId, leftMs],
      );
      return rows.length === 1 ? true : undefined;
    });
  const letters = ({ jobId }: Viewer) =>
    stage.ledger.calls.filter(({ tool, key: of }) => tool === 'send_letter' && of.startsWith(jobId)).length;
  const waits = ({ events }: Viewer) => events.filter(({ type }) => type === 'job-waiting').length;

  it('with a job that goes to wait at this moment, and none is ever lost', async () => {
    const pauses = fc.sample(fc.tuple(fc.nat(12), fc.nat(12)), 120);
    const jobs = await runAll(pauses, [charge, letter('ada'), letter('bob')], async (job, [first, second]) => {
      const [ada, bob] = await shown(job, 2);
      if (ada === undefined || bob === undefined) throw new Error('two are asked');
      const replies = await Promise.all([
        setTimeout(first).then(() => decider.approve(ada)),
        setTimeout(second).then(() => decider.deny(bob)),
      ]);
      expect(replies.map(({ status }) => status)).toEqual([200, 200]);
    });
    expect(new Set(await Promise.all(jobs.map(async ({ jobId }) => (await stage.snapshot(jobId)).status)))).toEqual(
      new Set(['completed']),
    );
    expect(jobs.map(letters)).toEqual(jobs.map(() => 1));
    // Some were answered before they could wait, and some had to be woken: both sides of the race were seen.
    expect(new Set(jobs.map(waits)).size).toBeGreaterThan(1);
  });

  it('with a stop, and whoever comes second is told so', async () => {
    const pauses = fc.sample(fc.tuple(fc.nat(8), fc.nat(8)), 60);
    const won = { answer: 0, stop: 0 };
    await runAll(pauses, [letter('ada')], async (job, [first, second]) => {
      const [asked] = await shown(job, 1);
      if (asked === undefined) throw new Error('nothing is asked');
      const [answer, stop] = await Promise.all([
        setTimeout(first).then(() => decider.approve(asked)),
        setTimeout(second).then(() => decider.call(`/api/jobs/${job.jobId}/abort`, {})),
      ]);
      await job.ended;
      const { status, calls } = await stage.snapshot(job.jobId);
      expect(status).toBe(stop.body['state'] === 'already_terminal' ? 'completed' : 'cancelled');
      expect(letters(job)).toBeLessThanOrEqual(1);
      won[answer.status === 200 ? 'answer' : 'stop'] += 1;
      if (answer.status === 200) return;
      expect(answer).toMatchObject({ status: 409, body: { code: 'already_answered', outcome: 'cancelled' } });
      expect([calls[0]?.status, letters(job)]).toEqual(['cancelled', 0]);
    });
    expect(Math.min(won.answer, won.stop)).toBeGreaterThan(0);
  });

  it('with the end of the time that a job may work, and each request is settled once', async () => {
    const limitMs = 1_500;
    for (const worker of workers) worker.kill('SIGKILL');
    await Promise.all(workers.map(({ exited }) => exited));
    await stage.startWorker({ ...calm, JOB_TIMEOUT_MS: String(limitMs) });
    // What runs beside the request does not come back, so the job is at work when its time is over.
    const gate = stage.ledger.holdAll();
    const near = fc.sample(fc.nat(100), 25).map((leftMs) => (job: Viewer) => nearItsEnd(job, leftMs));
    const rightAway = () => Promise.resolve();
    const afterwards = (job: Viewer) => job.ended;
    const moments = [...near, ...Array.from({ length: 10 }, () => [rightAway, afterwards]).flat()];
    const won = { answer: 0, end: 0 };
    await runAll(moments, [charge, letter('ada')], async (job, comes) => {
      const [asked] = await shown(job, 1);
      if (asked === undefined) throw new Error('nothing is asked');
      await comes(job);
      const answer = await decider.approve(asked);
      await job.ended;
      expect(await stage.snapshot(job.jobId)).toMatchObject({ status: 'failed', error: { code: 'deadline' } });
      expect(letters(job)).toBe(0);
      won[answer.status === 200 ? 'answer' : 'end'] += 1;
      if (answer.status !== 200)
        expect(answer).toMatchObject({ status: 409, body: { code: 'already_answered', outcome: 'cancelled' } });
    });
    gate.open();
    expect(Math.min(won.answer, won.end)).toBeGreaterThan(0);
  });

  it('every viewer has seen 1 to N, and nobody was asked or answered twice', async () => {
    expect(await stage.problems()).toEqual([]);
  });
});
