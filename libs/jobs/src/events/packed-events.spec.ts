import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';

import type { NewJobEvent } from './job-event.js';
import { eventsOf, type StoredLogRow, toLogRows } from './packed-events.js';

const place = (i: number) => ({ nodeRunId: `j:${i}`, nodeId: `n${i}`, label: 'N', type: 'transform', path: [] });
const started = (i: number): NewJobEvent => ({ type: 'node-started', body: place(i) });
const finished = (i: number, output = 'done'): NewJobEvent => ({
  type: 'node-finished',
  body: { ...place(i), status: 'completed', output },
});
const warning: NewJobEvent = { type: 'warning', body: { code: 'c', text: 't' } };
const many = (count: number) => Array.from({ length: count }, (_, i) => (i % 2 === 0 ? started(i) : finished(i)));

/** Numbers the rows as the database does. */
function stored(events: readonly NewJobEvent[], base: number): readonly StoredLogRow[] {
  let seq = base;
  return toLogRows(events).map((row) => {
    seq += row.events;
    return { ...row, seq, attempt: 0, at: 7.4 };
  });
}

describe('toLogRows', () => {
  const sizes = (events: readonly NewJobEvent[]) => toLogRows(events).map((row) => row.events);

  it('packs a long sequence of node events into one row', () => {
    expect(sizes(many(40))).toEqual([40]);
    expect(sizes([warning, ...many(12), warning])).toEqual([1, 12, 1]);
  });

  it('keeps a short sequence of node events in rows of their own', () => {
    expect(toLogRows(many(11))).toEqual(many(11).map((event) => ({ ...event, events: 1 })));
  });

  it('puts at most 64 events and no long output into a pack', () => {
    expect(sizes(many(150))).toEqual([64, 64, 22]);
    expect(sizes([...many(20), finished(20, 'x'.repeat(1_025)), ...many(20)])).toEqual([20, 1, 20]);
  });

  it('lets eventsOf return each event once and in order after any cursor', () => {
    const event = fc.oneof(
      { weight: 30, arbitrary: fc.nat(99).map(started) },
      { weight: 30, arbitrary: fc.nat(99).map((i) => finished(i)) },
      { weight: 1, arbitrary: fc.constant(warning) },
    );
    fc.assert(
      fc.property(fc.array(event, { maxLength: 200 }), fc.nat(9), fc.nat(210), (events, base, after) => {
        const read = stored(events, base).flatMap((row) =>
          row.seq > after ? eventsOf(row, { jobId: 'j', after }) : [],
        );
        const wanted = events.map((each, i) => ({ ...each, seq: base + i + 1, jobId: 'j', at: 7, attempt: 0 }));
        expect(read).toEqual(wanted.filter(({ seq }) => seq > after));
      }),
    );
  });
});
