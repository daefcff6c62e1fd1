import { setTimeout } from 'node:timers/promises';

import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import fc from 'fast-check';

import { openEventStream, type StreamFrame } from '../harness/event-stream.js';
import type { NightshiftProcess } from '../harness/processes.js';
import { Decider, type DecisionReply } from './decider.js';
import { followOrders, type Order } from './obedient-model.js';
import { Stage } from './stage.js';
import type { Viewer } from './viewer.js';

const letter = (to: string): Order => ({ tool: 'send_letter', to });
const charge: Order = { tool: 'charge', to: 'ada' };
/** Jobs that race at the same time. */
const atOnce = 15;

/** A request as a stream has shown it. */
interface Asked {
  readonly id: string;
  readonly request: object;
}

type Pair = readonly [Asked, Asked];

/** Whether a stream shows the end of a call of this tool. */
function isDone(call: unknown, tool: string): boolean {
  const { name, status } = call as { readonly name: string; readonly status: string }; // the contract's shape
  return name === tool && status === 'complete';
}

describe('racing answers', () => {
  let stage: Stage;
  let api: NightshiftProcess;
  let workers: readonly NightshiftProcess[];
  let decider: Decider;
  let key: string;

  beforeAll(async () => {
    stage = await Stage.open();
    stage.model.answer(followOrders);
    await stage.policy({ rules: [{ match: 'send_letter', action: 'require_approval' }] });
    key = await stage.createKey(['read', 'write', 'approve']);
    [api, ...workers] = await Promise.all([stage.startApi(), stage.startWorker(), stage.startWorker()]);
    decider = new Decider(api, key);
  });

  afterAll(async () => {
    await stage.close();
  });

  /** Resolves with what the job's stream has shown in the instant in which it `holds`. */
  const shown = async (
    job: Viewer,
    holds: (frames: readonly StreamFrame[]) => boolean,
  ): Promise<readonly StreamFrame[]> => {
    const url = `${api.url ?? ''}/api/jobs/${job.jobId}/stream?after=0`;
    const stream = await openEventStream(url, { authorization: `Bearer ${key}` });
    // A busy machine responds with 503 after some seconds: repeat the request, as any client does.
    if (stream.status === 503) return shown(job, holds);
    await stream.until(() => holds(stream.frames));
    stream.leave();
    return stream.frames;
  };
  const opened = (frames: readonly StreamFrame[]) => frames.filter(({ event }) => event === 'interrupt-opened');
  /** The first `count` requests, in the instant in which the last of them is shown. */
  const asked = async (job: Viewer, count: number): Promise<readonly Asked[]> => {
    const frames = await shown(job, (so) => opened(so).length >= count);
    // The contract's shape.
    return opened(frames).map(({ data }) => ({
      id: String(data['interruptId']),
      request: data['request'] as object,
    }));
  };
  const onlyAsked = async (job: Viewer): Promise<Asked> => {
    const [only] = await asked(job, 1);
    if (only === undefined) throw new Error('nothing is asked');
    return only;
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
  const nearItsEnd = async ({ jobId }: Viewer, leftMs: number) => {
    const { rows } = await stage.database.postgres.workerPool.query<{ ms: number }>(
      'SELECT (extract(epoch FROM deadline_at - clock_timestamp()) * 1000)::int AS ms FROM job WHERE id = $1',
      [jobId],
    );
    await setTimeout((rows[0]?.ms ?? 0) - leftMs);
  };
  const letters = ({ jobId }: Viewer) =>
    stage.ledger.calls.filter(({ tool, key: of }) => tool === 'send_letter' && of.startsWith(jobId)).length;
  const waits = ({ events }: Viewer) => events.filter(({ type }) => type === 'job-waiting').length;

  it('resume a job that begins to wait at the same moment, and none is lost', async () => {
    // What runs beside the requests keeps the job from waiting, until it is answered.
    const held = stage.ledger.holdEach();
    const isCharged = (frames: readonly StreamFrame[]) =>
      frames.some(({ event, data }) => event === 'tool-call-updated' && isDone(data['call'], 'charge'));
    const both = ([ada, bob]: Pair) => [decider.approve(ada), decider.deny(bob)];
    type Answering = (job: Viewer, pair: Pair, open: () => void) => Promise<readonly DecisionReply[]>;
    const before: Answering = async (_job, pair, open) => {
      const replies = await Promise.all(both(pair));
      open();
      return replies;
    };
    const justBefore: Answering = (_job, pair, open) => {
      const replies = Promise.all(both(pair));
      open();
      return replies;
    };
    const between: Answering = (_job, [ada, bob], open) => {
      const first = decider.deny(bob);
      open();
      return Promise.all([first, decider.approve(ada)]);
    };
    const asItGoes: Answering = async (job, pair, open) => {
      const charged = shown(job, isCharged);
      open();
      await charged;
      return Promise.all(both(pair));
    };
    const whenItWaits: Answering = async (job, pair, open) => {
      open();
      await job.saw('job-waiting');
      return Promise.all(both(pair));
    };
    const given = Array.from({ length: 24 }, () => [before, justBefore, between, asItGoes, whenItWaits]).flat();
    const jobs = await runAll(given, [charge, letter('ada'), letter('bob')], async (job, answering) => {
      const [ada, bob] = await asked(job, 2);
      if (ada === undefined || bob === undefined) throw new Error('two are asked');
      const replies = await answering(job, [ada, bob], () => {
        held.of(job.jobId).open();
      });
      expect(replies.map(({ status }) => status)).toEqual([200, 200]);
      await job.ended;
      if (answering === before) expect(waits(job)).toBe(0);
      if (answering === whenItWaits) expect(waits(job)).toBeGreaterThan(0);
    });
    held.end();
    expect(new Set(await Promise.all(jobs.map(async ({ jobId }) => (await stage.snapshot(jobId)).status)))).toEqual(
      new Set(['completed']),
    );
    expect(jobs.map(letters)).toEqual(jobs.map(() => 1));
  });

  it('settle the request once when a cancel is concurrent; the later caller gets a conflict', async () => {
    const stopOf = ({ jobId }: Viewer) => decider.call(`/api/jobs/${jobId}/abort`, {});
    type Race = (job: Viewer, one: Asked) => Promise<readonly [answer: DecisionReply, stop: DecisionReply]>;
    const answerFirst: Race = async (job, one) => {
      const answer = await decider.approve(one);
      return [answer, await stopOf(job)];
    };
    const stopFirst: Race = async (job, one) => {
      const stop = await stopOf(job);
      return [await decider.approve(one), stop];
    };
    const answerThenStop: Race = (job, one) => Promise.all([decider.approve(one), stopOf(job)]);
    const stopThenAnswer: Race = async (job, one) => {
      const stop = stopOf(job);
      return [await decider.approve(one), await stop];
    };
    const races = [answerFirst, stopFirst, answerThenStop, stopThenAnswer];
    // In the instant of the request the job is at work yet; a moment later it waits.
    const moments = [false, true].flatMap((isWaiting) => races.map((race) => ({ race, isWaiting })));
    await runAll(Array.from({ length: 8 }, () => moments).flat(), [letter('ada')], async (job, { race, isWaiting }) => {
      const one = await onlyAsked(job);
      if (isWaiting) await job.saw('job-waiting');
      const [answer, stop] = await race(job, one);
      await job.ended;
      const { status, calls } = await stage.snapshot(job.jobId);
      expect(status).toBe(stop.body['state'] === 'already_terminal' ? 'completed' : 'cancelled');
      expect(letters(job)).toBeLessThanOrEqual(1);
      if (race === answerFirst) expect(answer.status).toBe(200);
      if (race === stopFirst) expect(answer.status).toBe(409);
      if (answer.status === 200) return;
      expect(answer).toMatchObject({ status: 409, body: { code: 'already_answered', outcome: 'cancelled' } });
      expect([calls[0]?.status, letters(job)]).toEqual(['cancelled', 0]);
    });
  });

  it('settle each request once against the end of the time budget of the job', async () => {
    // Each request was opened long before, so an answer at once is in time.
    const limitMs = 15_000;
    for (const worker of workers) worker.kill('SIGKILL');
    await Promise.all(workers.map(({ exited }) => exited));
    await stage.startWorker({ JOB_TIMEOUT_MS: String(limitMs) });
    // The call that runs beside the request never returns, so the job is still running at its time limit.
    const gate = stage.ledger.holdAll();
    const near = fc.sample(fc.nat(100), 25).map((leftMs) => (job: Viewer) => nearItsEnd(job, leftMs));
    const rightAway = () => Promise.resolve();
    const afterwards = (job: Viewer) => job.ended;
    const moments = [...near, ...Array.from({ length: 10 }, () => [rightAway, afterwards]).flat()];
    const won = { answer: 0, end: 0 };
    await runAll(moments, [charge, letter('ada')], async (job, comes) => {
      const one = await onlyAsked(job);
      await comes(job);
      const answer = await decider.approve(one);
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

  it('deliver the events 1 to N to every viewer, and open and settle each request once', async () => {
    expect(await stage.problems()).toEqual([]);
  });
});
