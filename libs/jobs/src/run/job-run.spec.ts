import { describe, expect, it } from '@jest/globals';

import { ManualClock } from '#platform';

import { type JobWrite, toParameters } from '../events/commit-statement.js';
import type { EventLog, WriteSource } from '../events/event-log.js';
import { JobRun } from './job-run.js';
import type { ClaimedJob } from './lease.repository.js';

/** A run over a log whose writes end when the test decides. */
function scene() {
  const clock = new ManualClock();
  const writes: JobWrite[] = [];
  const ends: (() => void)[] = [];
  const log = {
    later: clock.after.bind(clock),
    commit: (source: WriteSource) => {
      writes.push(source());
      return new Promise((resolve) =>
        ends.push(() => {
          resolve({ lineWaits: false });
        }),
      );
    },
  };
  const job = { workspaceId: 'w', jobId: 'j', epoch: 1, contentLength: 0, restarts: 0 };
  // A stand-in: the run reads only these members of a claim and of the log.
  const run = new JobRun(job as ClaimedJob, {
    log: log as unknown as EventLog,
    clock,
    flush: { intervalMs: 100, chunks: 10, bytes: 1_024 },
    renewLease: () => Promise.resolve(undefined),
    isValid: () => true,
  });
  const endWrite = async () => {
    ends.shift()?.();
    await new Promise(setImmediate);
  };
  return {
    run,
    clock,
    writes,
    endWrite,
    texts: () => writes.map(({ events }) => events.map(({ body }) => ('text' in body ? body.text : '')).join('')),
  };
}

describe('JobRun.append', () => {
  it('gives an event the attempt of the append, even if a later commit writes it', async () => {
    const { run, writes, endWrite } = scene();
    void run.text(1, 'first ');
    run.append({ events: [{ type: 'warning', body: { code: 'a', text: 'before' } }] });
    run.restartRound(1, 'broken');
    run.append({ events: [{ type: 'warning', body: { code: 'b', text: 'after' } }] });
    await endWrite();
    void run.commit();
    const [, second] = writes;
    if (second === undefined) throw new Error('nothing was written');
    const attempts = toParameters([second], 1_000)[4];

    expect(second.events.map(({ type }) => type)).toEqual(['warning', 'round-restarted', 'warning']);
    expect(attempts).toBe('{0,1,1}');
  });
});

describe('the activity of a run', () => {
  it('counts the time of overlapping failed requests once', () => {
    const { run, clock } = scene();
    const [one, two] = [run.activity.openStream(), run.activity.openStream()];
    one.asked();
    clock.advance(1_000);
    two.asked();
    clock.advance(2_000);
    expect(run.activity.awaitedMs).toBe(3_000);
    expect(one.failed()).toBe(3_000);
    clock.advance(500);
    expect(run.activity.awaitedMs).toBe(500);
    expect(two.failed()).toBe(500);
    one.asked();
    clock.advance(700);
    one.heard();
    expect([run.activity.awaitedMs, one.failed()]).toEqual([0, 0]);
  });

  it('reports silence only if the run waits for models that have sent nothing', async () => {
    const { run, clock } = scene();
    const stream = run.activity.openStream();
    clock.advance(2_000);
    stream.heard();
    clock.advance(2_999);
    expect(run.activity.isSilentFor(3_000)).toBe(false);
    clock.advance(1);
    expect(run.activity.isSilentFor(3_000)).toBe(true);
    const tool = Promise.withResolvers<undefined>();
    const tracked = run.activity.track(tool.promise);
    expect(run.activity.isSilentFor(3_000)).toBe(false);
    tool.resolve(undefined);
    await tracked;
    expect(run.activity.isSilentFor(3_000)).toBe(true);
    stream.close();
    stream.heard(); // late data of a closed stream does not open it again
    clock.advance(3_000);
    expect(run.activity.isSilentFor(3_000)).toBe(false);
  });
});

describe('the flush of text', () => {
  it('sends the first text at once and buffers later text until the interval ends', async () => {
    const { run, clock, texts, endWrite } = scene();
    void run.text(1, 'a');
    expect(texts()).toEqual(['a']);
    await endWrite();
    void run.text(1, 'b');
    clock.advance(99);
    void run.text(1, 'c');
    expect(texts()).toEqual(['a']);
    clock.advance(1);
    expect(texts()).toEqual(['a', 'bc']);
  });

  it('sends every piece of a slow model at once', async () => {
    const { run, clock, texts, endWrite } = scene();
    for (const piece of ['a', 'b', 'c']) {
      void run.text(1, piece);
      await endWrite();
      clock.advance(100);
    }
    expect(texts()).toEqual(['a', 'b', 'c']);
    expect(clock.pending).toBe(0);
  });

  it('sends buffered text right after a slow write that outlasted the interval', async () => {
    const { run, clock, texts, endWrite } = scene();
    void run.text(1, 'a');
    void run.text(1, 'b');
    clock.advance(100);
    expect(texts()).toEqual(['a']);
    await endWrite();
    expect(texts()).toEqual(['a', 'b']);
    expect(clock.pending).toBe(0);
  });

  it('keeps its interval when the previous write ends early', async () => {
    const { run, clock, texts, endWrite } = scene();
    void run.text(1, 'a');
    clock.advance(50);
    void run.text(1, 'b');
    await endWrite();
    clock.advance(49);
    expect(texts()).toEqual(['a']);
    clock.advance(1);
    expect(texts()).toEqual(['a', 'b']);
  });

  it('measures the interval from the last text, also after writes without text', async () => {
    const { run, clock, texts, endWrite } = scene();
    const committed = run.commit({
      counts: { rounds: 1 },
      events: [{ type: 'round-started', body: { round: 1, model: 'm' } }],
    });
    await endWrite();
    await committed;
    clock.advance(1);
    void run.text(1, 'a');
    expect(texts()).toEqual(['', 'a']);
  });
});
