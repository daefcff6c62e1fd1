import { describe, expect, it } from '@jest/globals';

import { Config } from '#platform';

import { SlowViewers } from './slow-viewers.js';

describe('SlowViewers', () => {
  const scene = () => {
    const unsent = new SlowViewers(Config.from({ SLOW_VIEWERS_BYTES: '1048576' }));
    const cut: string[] = [];
    const enter = (name: string, bytes: number, connection: object = {}) =>
      unsent.enter(connection, { bytes, cut: () => cut.push(name) });
    return { cut, enter };
  };

  it('disconnects the viewers that have been slow for longest until the rest fits the limit', () => {
    const { cut, enter } = scene();
    const leave = enter('first', 400_000);
    enter('second', 400_000);
    enter('third', 900_000);
    expect(cut).toEqual(['first', 'second']);
    leave();
    enter('fourth', 100_000);
    expect(cut).toEqual(['first', 'second']);
  });

  it('counts a connection once for any number of slow subscriptions', () => {
    const { cut, enter } = scene();
    const connection = {};
    const leave = [enter('one', 600_000, connection), enter('one', 700_000, connection)];
    enter('two', 300_000);
    expect(cut).toEqual([]);
    leave[0]?.();
    enter('three', 300_000);
    expect(cut).toEqual(['one']);
    leave[1]?.();
    enter('four', 400_000);
    expect(cut).toEqual(['one']);
  });

  it('counts only viewers with unsent bytes, and never disconnects a single one', () => {
    const { cut, enter } = scene();
    for (let i = 0; i < 10; i += 1) enter('gone', 900_000)();
    const leave = enter('large', 9_000_000);
    expect(cut).toEqual([]);
    leave();
    enter('next', 900_000);
    expect(cut).toEqual([]);
  });
});
