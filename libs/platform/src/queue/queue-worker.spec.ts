import { describe, expect, it } from '@jest/globals';

import { AppError } from '../errors/app-error.js';
import { DatabaseUnavailable } from '../postgres/postgres.errors.js';
import { runParts } from './queue-worker.js';

describe('runParts', () => {
  it('runs every part, and rejects with the first error unchanged when several parts fail', async () => {
    const refused = new AppError({ code: 'conflict', message: 'Another transaction has changed the row' });
    const ran: number[] = [];
    const part = (number: number, error?: Error) => () => {
      ran.push(number);
      return error === undefined ? Promise.resolve() : Promise.reject(error);
    };
    const run = runParts(part(1), part(2, refused), part(3, new Error('another')), part(4));
    await expect(run).rejects.toBe(refused);
    expect(ran).toEqual([1, 2, 3, 4]);
  });

  it('runs no further part if the database is unavailable', async () => {
    const ran: number[] = [];
    const away = new DatabaseUnavailable(new Error('ECONNREFUSED'));
    const run = runParts(
      () => Promise.reject(away),
      () => Promise.resolve(ran.push(2)),
    );
    await expect(run).rejects.toBe(away);
    expect(ran).toEqual([]);
  });
});
