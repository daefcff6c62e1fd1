import { describe, expect, it } from '@jest/globals';

import { RoundResponse } from './round.js';

const text = (value: string) => ({ type: 'text', text: value }) as const;

describe('RoundResponse', () => {
  it.each([
    ['aä€😀', 10, 'aä€😀'],
    ['aä€😀', 9, 'aä€'],
    ['aä€😀', 6, 'aä€'],
    ['aä€😀', 5, 'aä'],
    ['aä€😀', 2, 'a'],
    ['😀', 3, ''],
    ['a', 0, ''],
    ['a', -1, ''],
  ])('keeps the characters of %j that fit into %i bytes', (value, bytes, kept) => {
    const response = new RoundResponse(bytes);
    expect(response.take([text(value)]).text).toBe(kept);
    expect(response).toMatchObject({ text: kept, isFull: kept !== value });
  });

  it('counts reasoning and text of all batches together', () => {
    const response = new RoundResponse(6);
    response.take([{ type: 'reasoning', text: 'ab' }, text('ä')]);
    expect(response.isFull).toBe(false);
    response.take([text('€')]);
    expect(response).toMatchObject({ reasoning: 'ab', text: 'ä', isFull: true });
  });
});
