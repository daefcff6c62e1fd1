import { describe, expect, it } from '@jest/globals';

import { AppError } from '../errors/app-error.js';
import { runParts } from './queue-worker.js';

describe('runParts', () => {
  it('runs every part, and rejects with the first error unchanged when several parts fail', async () => {
    const unavailable = new AppError({ code: 'unavailable', message: 'The database is away', retryable: true });
    const ran: number[] = [];
    const part = (number: number, error?: Error) => () => {
      ran.push(number);
      return error === undefined ? Promise.resolve() : Promise.reject(error);
    };
    const run = runParts(part(1), part(2, unavailable), part(3, new Error('another')), part(4));
    await expect(run).rejects.toBe(unavailable);
    expect(ran).toEqual([1, 2, 3, 4]);
  });
});
