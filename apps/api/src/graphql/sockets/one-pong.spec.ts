import { describe, expect, it } from '@jest/globals';

import { onePong } from './one-pong.js';

describe('onePong', () => {
  it('sends no second pong while the first is unsent', async () => {
    const sent: number[] = [];
    const taken = [Promise.withResolvers<undefined>(), Promise.withResolvers<undefined>()];
    const pong = onePong<number>(async (payload) => {
      sent.push(payload);
      await taken[sent.length - 1]?.promise;
    });
    const first = pong(1);
    for (let i = 2; i < 1_000; i += 1) void pong(i);
    expect(sent).toEqual([1]);
    taken[0]?.resolve(undefined);
    await first;
    void pong(1_000);
    expect(sent).toEqual([1, 1_000]);
  });
});
