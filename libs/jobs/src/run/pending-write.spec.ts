import { describe, expect, it } from '@jest/globals';

import type { NewJobEvent } from '../events/job-event.js';
import { PendingWrite } from './pending-write.js';

const delta = (round: number, offset: number, text: string): NewJobEvent => ({
  type: 'text-delta',
  body: { round, offset, text },
});
const started = (round: number): NewJobEvent => ({ type: 'round-started', body: { round, model: 'm' } });

describe('PendingWrite', () => {
  it('makes one row of the text of a round, however many pieces it came in', () => {
    const pending = new PendingWrite();
    pending.add({ events: [delta(1, 0, 'a'), delta(1, 1, 'b')] });
    pending.add({ events: [delta(1, 2, 'c')] });
    expect(pending.take().events).toEqual([delta(1, 0, 'abc')]);
    expect(pending.isEmpty).toBe(true);
  });

  it('drops the text of the round that is asked again, and no other', () => {
    const pending = new PendingWrite();
    pending.add({ events: [delta(1, 0, 'kept'), started(2), delta(2, 4, 'gone')] });
    pending.dropDeltas(2);
    expect(pending.take().events).toEqual([delta(1, 0, 'kept'), started(2)]);
  });

  it('puts back what was refused before what came since', () => {
    const pending = new PendingWrite();
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
