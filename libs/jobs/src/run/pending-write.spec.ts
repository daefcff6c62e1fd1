import { describe, expect, it } from '@jest/globals';

import { type CommitPart, partRow } from '../events/commit-part.js';
import type { NewJobEvent } from '../events/job-event.js';
import { PendingWrite } from './pending-write.js';

const delta = (round: number, offset: number, text: string): NewJobEvent => ({
  type: 'text-delta',
  body: { round, offset, text },
});
const started = (round: number): NewJobEvent => ({ type: 'round-started', body: { round, model: 'm' } });

describe('PendingWrite', () => {
  it('merges the text of a round into one row', () => {
    const pending = new PendingWrite({ chunks: 10, bytes: 1_024 });
    pending.add({ events: [delta(1, 0, 'a'), delta(1, 1, 'b')] });
    pending.add({ events: [delta(1, 2, 'c')] });
    expect(pending.take().events).toEqual([delta(1, 0, 'abc')]);
    expect(pending.isEmpty).toBe(true);
  });

  it('merges the text of each of several concurrent rounds into one row', () => {
    const aside = (round: number, text: string): NewJobEvent => ({
      type: 'text-delta',
      body: { round, text, nodeId: `n${round}` },
    });
    const pending = new PendingWrite({ chunks: 10, bytes: 1_024 });
    pending.add({
      events: [aside(1, 'a'), aside(2, 'x'), delta(3, 0, '.'), aside(1, 'b'), aside(2, 'y'), delta(3, 1, '!')],
    });
    expect(pending.take().events).toEqual([aside(1, 'ab'), aside(2, 'xy'), delta(3, 0, '.!')]);
  });

  it('keeps the order of text and reasoning within a round and of all other events', () => {
    const thought = (offset: number, text: string): NewJobEvent => ({
      type: 'reasoning-delta',
      body: { round: 1, offset, text },
    });
    const events = [thought(0, 'a'), delta(1, 0, 'b'), thought(1, 'c'), started(2), thought(2, 'd')];
    const pending = new PendingWrite({ chunks: 10, bytes: 1_024 });
    pending.add({ events });
    expect(pending.take().events).toEqual(events);
  });

  it('writes when one round alone has enough buffered text', () => {
    const pending = new PendingWrite({ chunks: 2, bytes: 1_024 });
    const say = (round: number) => {
      pending.addPiece({ type: 'text-delta', body: { round, text: 'a', nodeId: `n${round}` } });
      return pending.isDue;
    };
    expect([say(1), say(2), say(3), say(2)]).toEqual([false, false, false, true]);
    pending.take();
    expect([say(1), say(1)]).toEqual([false, true]);
  });

  it('writes the last of several rows with the same key, at the position of the first', () => {
    const part: CommitPart<readonly [string]> = { name: 'p', columns: [], sql: () => '' };
    const row = (text: string, key?: string) => partRow(part, [text], key);
    const pending = new PendingWrite({ chunks: 10, bytes: 1_024 });
    pending.add({ rows: [row('a1', 'a'), row('x'), row('b1', 'b')] });
    const earlier = pending.copy();
    pending.take();
    pending.add({ rows: [row('x'), row('a2', 'a'), row('c', 'c'), row('c', 'c')] });
    pending.putBack(earlier);
    expect(pending.take().rows.map((written) => written.row[0])).toEqual(['a2', 'x', 'b1', 'x', 'c']);
  });

  it('drops the text of a withdrawn round only', () => {
    const pending = new PendingWrite({ chunks: 10, bytes: 1_024 });
    pending.add({ events: [delta(1, 0, 'kept'), started(2), delta(2, 4, 'gone')] });
    pending.withdraw({ round: 2, reason: 'r', contentLength: 4, reasoningLength: 0 });
    expect(pending.take().events).toEqual([delta(1, 0, 'kept'), started(2)]);
  });

  it('puts refused changes back before later ones', () => {
    const pending = new PendingWrite({ chunks: 10, bytes: 1_024 });
    pending.add({ events: [started(1)], counts: { rounds: 1 }, progress: true });
    const refused = pending.take();
    pending.add({ events: [started(2)], counts: { rounds: 1 } });
    pending.putBack(refused);
    expect(pending.take()).toMatchObject({
      events: [started(1), started(2)],
      counts: { rounds: 2 },
      progress: true,
    });
  });
});
