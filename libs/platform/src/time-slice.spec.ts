import { describe, expect, it } from '@jest/globals';

import { ManualClock } from './clock.js';
import { mapInSlices, TimeSlice } from './time-slice.js';

describe('TimeSlice', () => {
  it('ends after 10 ms of work in one turn of the event loop, waits within the turn included', async () => {
    const clock = new ManualClock();
    const slice = new TimeSlice(clock);
    const seen: boolean[] = [];
    for (let step = 0; step < 4; step += 1) {
      seen.push(slice.isOver);
      clock.advance(4);
      await Promise.resolve();
    }
    expect(seen).toEqual([false, false, false, true]);
  });

  it('counts no time before the turn in which the work continues', async () => {
    const clock = new ManualClock();
    const slice = new TimeSlice(clock);
    expect(slice.isOver).toBe(false);
    await new Promise(setImmediate);
    clock.advance(1_000);
    expect(slice.isOver).toBe(false);
  });

  it('begins again in the next turn, after other work of the process', async () => {
    const clock = new ManualClock();
    const slice = new TimeSlice(clock);
    const order: string[] = [];
    expect(slice.isOver).toBe(false);
    clock.advance(10);
    expect(slice.isOver).toBe(true);
    setImmediate(() => {
      order.push('other work');
    });
    await slice.nextTurn();
    order.push('this work');
    expect(order).toEqual(['other work', 'this work']);
    clock.advance(9);
    expect(slice.isOver).toBe(false);
    clock.advance(1);
    expect(slice.isOver).toBe(true);
  });
});

it('two tasks that share a TimeSlice continue in different turns of the event loop', async () => {
  const clock = new ManualClock();
  const slice = new TimeSlice(clock);
  const order: string[] = [];
  const work = async (name: string) => {
    for (let step = 1; step <= 2; step += 1) {
      if (slice.isOver) await slice.nextTurn();
      order.push(`${name}${step}`);
      clock.advance(10);
    }
  };
  const markTurn = () => {
    order.push('turn');
    if (order.length < 20) setImmediate(markTurn);
  };
  setImmediate(markTurn);
  await Promise.all([work('a'), work('b')]);
  expect(order.join(' ')).toMatch(/^a1( turn)+ a2( turn)+ b1( turn)+ b2/);
});

describe('mapInSlices', () => {
  it('maps in order, and lets other work of the process run after each 10 ms', async () => {
    const clock = new ManualClock();
    const order: (string | number)[] = [];
    const step = (ms: number) => {
      order.push(ms);
      clock.advance(ms);
      setImmediate(() => {
        order.push('other work');
      });
      return -ms;
    };
    expect(await mapInSlices([4, 6, 12, 1], step, new TimeSlice(clock))).toEqual([-4, -6, -12, -1]);
    expect(order).toEqual([4, 6, 'other work', 'other work', 12, 'other work', 1]);
  });
});
