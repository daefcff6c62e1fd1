import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';

import { ManualClock } from '#platform';

import { type JobCounts, type JobWrite, noCounts } from '../events/commit-statement.js';
import type { EventLog, WriteSource } from '../events/event-log.js';
import type { NewJobEvent } from '../events/job-event.js';
import { CancelRequested, LeaseLost } from '../jobs.errors.js';
import { JobRun } from './job-run.js';
import type { ClaimedJob, Renewed } from './lease.repository.js';
import { addCounts } from './pending-write.js';

const warning = (code: string, text: string): NewJobEvent => ({ type: 'warning', body: { code, text } });
const names = ({ events }: JobWrite) =>
  events.map(({ body }) => ('text' in body && 'code' in body ? `${body.code}:${body.text}` : '?'));
const turn = () => new Promise(setImmediate);

type Asked = (Pick<Renewed, 'cancelRequested' | 'externalUpdates'> & Partial<Pick<Renewed, 'reason'>>) | undefined;

/** A run over a log whose writes succeed or fail when the test decides. */
function scene(
  renewLease: () => Promise<Asked> = () => Promise.resolve({ cancelRequested: true, externalUpdates: 0 }),
) {
  const writes: JobWrite[] = [];
  const stored: JobWrite[] = [];
  const waiting: { readonly write: JobWrite; readonly ends: PromiseWithResolvers<{ lineWaits: boolean }> }[] = [];
  const clock = new ManualClock();
  const log = {
    later: clock.after.bind(clock),
    commit: async (source: WriteSource) => {
      await Promise.resolve();
      const write = source();
      const ends = Promise.withResolvers<{ lineWaits: boolean }>();
      writes.push(write);
      waiting.push({ write, ends });
      return ends.promise;
    },
  };
  const job = { workspaceId: 'w', jobId: 'j', epoch: 1, externalUpdates: 0, ...noCounts };
  // A stand-in: the run reads only these members of a claim and of the log.
  const run = new JobRun(job as unknown as ClaimedJob, {
    log: log as unknown as EventLog,
    clock,
    flush: { intervalMs: 100, chunks: 10, bytes: 1_024 },
    renewLease,
    isValid: () => true,
  });
  const store = async () => {
    await turn();
    const next = waiting.shift();
    if (next === undefined) return;
    stored.push(next.write);
    next.ends.resolve({ lineWaits: false });
    await turn();
  };
  const refuse = async () => {
    await turn();
    waiting.shift()?.ends.reject(new LeaseLost('j'));
    await turn();
  };
  return { run, writes, stored, waiting, store, refuse };
}

const caught = (write: Promise<unknown>) =>
  write.then(
    () => 'written',
    (error: unknown) => error,
  );

describe('JobRun with several writers', () => {
  it('rejects a write of a cancelled job with the reason for the cancellation', async () => {
    const { run, refuse } = scene(() =>
      Promise.resolve({ cancelRequested: true, externalUpdates: 0, reason: 'human_wait' }),
    );
    const start = caught(run.commitUnlessCancelled({ events: [warning('a', 'start')] }));
    await refuse();
    expect(await start).toMatchObject({ why: 'human_wait' });
  });

  it('keeps all other changes if one write is refused', async () => {
    const { run, writes, refuse } = scene();
    run.append({ events: [warning('a', '1')], counts: { rounds: 1 } });
    const start = caught(run.commitUnlessCancelled({ events: [warning('a', 'start')], counts: { toolCalls: 1 } }));
    run.append({ events: [warning('b', '1')], counts: { promptTokens: 5, contentLength: 3 } });
    await refuse();
    expect(await start).toBeInstanceOf(CancelRequested);
    expect(run.totals).toEqual({ ...noCounts, rounds: 1, promptTokens: 5, contentLength: 3 });
    expect(writes.map(names)).toEqual([
      ['a:1', 'a:start'],
      ['a:1', 'b:1'],
    ]);
    expect(writes[1]?.counts).toEqual({ ...noCounts, rounds: 1, promptTokens: 5, contentLength: 3 });
  });

  it('restores changes that joined a refused write before it sends later ones', async () => {
    const asked = Promise.withResolvers<Asked>();
    const { run, stored, store, refuse } = scene(() => asked.promise);
    run.append({ events: [warning('a', 'begun')] });
    const start = caught(run.commitUnlessCancelled({ events: [warning('b', 'start')] }));
    await refuse();
    const end = caught(run.commit({ events: [warning('a', 'ended')] }));
    await turn();
    asked.resolve({ cancelRequested: true, externalUpdates: 0 });
    expect(await start).toBeInstanceOf(CancelRequested);
    await store();
    await store();
    expect(await end).toBe('written');
    expect(stored.flatMap(names)).toEqual(['a:begun', 'a:ended']);
  });

  it('batches the writes that waited for one write, and refuses the batch as a whole', async () => {
    const { run, writes, store, refuse } = scene();
    const first = run.commit({ events: [warning('a', '1')] });
    const starts = ['b', 'c'].map((node) => caught(run.commitUnlessCancelled({ events: [warning(node, 'start')] })));
    await store();
    await first;
    await refuse();
    expect(await Promise.all(starts)).toEqual([expect.any(CancelRequested), expect.any(CancelRequested)]);
    expect(writes.map(names)).toEqual([['a:1'], ['b:start', 'c:start']]);
  });

  it('rejects every writer if the lease is lost', async () => {
    const { run, refuse } = scene(() => Promise.resolve(undefined));
    const first = caught(run.commit({ events: [warning('a', '1')] }));
    const others = [
      caught(run.commitUnlessCancelled({ events: [warning('b', 'start')] })),
      caught(run.commitWaiting({ events: [warning('c', 'wait')] })),
    ];
    await refuse();
    expect(await Promise.all([first, ...others])).toEqual(Array(3).fill(expect.any(LeaseLost)));
    expect(run.signal.aborted).toBe(true);
  });

  it('rejects a start with LeaseLost if it finds an answer and no cancel', async () => {
    const { run, refuse } = scene(() => Promise.resolve({ cancelRequested: false, externalUpdates: 1 }));
    const start = caught(run.commitUnlessCancelled({ events: [warning('a', 'start')] }));
    await refuse();
    expect(await start).toBeInstanceOf(LeaseLost);
  });
});

const step = fc.record({
  does: fc.constantFrom('append', 'commit', 'start'),
  rounds: fc.nat(3),
  calls: fc.nat(3),
});

describe('JobRun with any number of writers', () => {
  it('stores and counts each accepted write once and in the order of its writer', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.array(step, { maxLength: 6 }), { minLength: 1, maxLength: 5 }),
        fc.infiniteStream(fc.boolean()),
        async (nodes, refusals) => {
          const { run, writes, stored, waiting, store, refuse } = scene();
          const kept = nodes.map((): string[] => []);
          const isStored = (name: string) => stored.some((write) => names(write).includes(name));
          const act = async (steps: (typeof nodes)[number], node: number) => {
            for (const [i, { does, rounds, calls }] of steps.entries()) {
              const write = { events: [warning(`${node}`, `${i}`)], counts: { rounds, toolCalls: calls } };
              if (does === 'append') run.append(write);
              else if (does === 'commit') await run.commit(write);
              else if ((await caught(run.commitUnlessCancelled(write))) !== 'written') continue;
              kept[node]?.push(`${node}:${i}`);
              if (does !== 'append') expect(isStored(`${node}:${i}`)).toBe(true);
            }
          };
          const all = Promise.all(nodes.map(act)).then(() => run.commit());
          const isOver = () => Promise.race([all.then(() => true), turn().then(() => false)]);
          while (!(await isOver())) {
            expect(waiting.length).toBeLessThanOrEqual(1);
            const mayRefuse = waiting[0]?.write.unlessCancelled === true;
            await (mayRefuse && refusals.next().value === true ? refuse() : store());
          }
          await all;
          const log = stored.flatMap(names);
          expect(nodes.map((_, node) => log.filter((name) => name.startsWith(`${node}:`)))).toEqual(kept);
          const counted = stored.reduce((sum: JobCounts, { counts }) => addCounts(sum, counts), noCounts);
          expect(run.totals).toEqual(counted);
          expect(stored.map(({ number }) => number)).toEqual(stored.map((_, i) => i + 1));
          expect(writes.length).toBeGreaterThanOrEqual(stored.length);
        },
      ),
      { numRuns: 200 },
    );
  });
});
