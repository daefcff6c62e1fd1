import { describe, expect, it } from '@jest/globals';

import { toConnection } from './to-connection.js';
import { toWantedPage } from './to-page.js';

describe('page arguments', () => {
  it('request the first 20 entries by default', () => {
    expect(toWantedPage({})).toEqual({ limit: 20, cursor: undefined, field: 'after', reverse: false });
    expect(toWantedPage({ first: null, last: null })).toMatchObject({ limit: 20, reverse: false });
  });

  it('select one direction, and are rejected if they mix both', () => {
    expect(toWantedPage({ last: 5, before: 'x' })).toEqual({ limit: 5, cursor: 'x', field: 'before', reverse: true });
    for (const args of [{ first: 1, last: 1 }, { before: 'x' }, { first: 1, before: 'x' }, { last: 1, after: 'x' }]) {
      expect(() => toWantedPage(args)).toThrow(expect.objectContaining({ code: 'bad_request' }));
    }
  });

  it('accept a page size of 1 to 100', () => {
    for (const size of [0, -1, 101, 1e9]) {
      expect(() => toWantedPage({ first: size })).toThrow('first must be 1 to 100');
      expect(() => toWantedPage({ last: size })).toThrow('last must be 1 to 100');
    }
  });
});

describe('connection', () => {
  const make = (rows: number[], args: Parameters<typeof toWantedPage>[0], count?: () => Promise<number>) =>
    toConnection(rows, { page: toWantedPage(args), cursorOf: String, ...(count === undefined ? {} : { count }) });

  it('keeps the order of the list in both directions', () => {
    expect(make([1, 2, 3], { first: 2 }).nodes).toEqual([1, 2]);
    expect(make([9, 8, 7], { last: 2 }).nodes).toEqual([8, 9]);
  });

  it('reports whether more pages exist', () => {
    expect(make([1, 2, 3], { first: 2 }).pageInfo).toEqual({
      hasNextPage: true,
      hasPreviousPage: false,
      startCursor: '1',
      endCursor: '2',
    });
    expect(make([3], { first: 2, after: 'x' }).pageInfo).toMatchObject({ hasNextPage: false, hasPreviousPage: true });
    expect(make([9, 8, 7], { last: 2, before: 'x' }).pageInfo).toMatchObject({
      hasNextPage: true,
      hasPreviousPage: true,
    });
    expect(make([], {}).pageInfo).toEqual({
      hasNextPage: false,
      hasPreviousPage: false,
      startCursor: null,
      endCursor: null,
    });
  });

  it('counts its entries only on request', async () => {
    let counted = 0;
    const connection = make([1], {}, () => Promise.resolve(++counted));
    expect([connection.nodes.length, counted]).toEqual([1, 0]);
    expect(await connection.totalCount).toBe(1);
  });
});
