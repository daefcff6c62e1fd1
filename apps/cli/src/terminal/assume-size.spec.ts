import { PassThrough } from 'node:stream';

import { describe, expect, it } from '@jest/globals';

import { assumeSize } from './assume-size.js';

describe('the size of a stream', () => {
  it.each([
    [
      { columns: 0, rows: 0 },
      { columns: 80, rows: 24 },
    ],
    [
      { columns: 100, rows: 40 },
      { columns: 100, rows: 40 },
    ],
    [{}, {}],
  ])('turns the reported size %j into %j', (size, wanted) => {
    const stream = Object.assign(new PassThrough(), size) as PassThrough & { columns?: number; rows?: number };
    assumeSize(stream);
    const { columns, rows } = stream;
    expect({ ...(columns !== undefined && { columns }), ...(rows !== undefined && { rows }) }).toEqual(wanted);
  });
});
