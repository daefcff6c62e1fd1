import { describe, expect, it } from '@jest/globals';

import { asAvailabilityError, isTransient, toCallerError } from './availability.js';
import { DatabaseUnavailable } from './postgres.errors.js';

/** As Prisma throws them. */
const failed = (meta: object) => Object.assign(new Error('Transaction API error'), { code: 'P2028', meta });
const noConnection = failed({ error: 'Unable to start a transaction in the given time.' });
const tooLong = failed({ operation: 'commit', timeout: 30_000, timeTaken: 36_028 });

describe('asAvailabilityError', () => {
  it('reports the database as unavailable if a transaction gets no connection', () => {
    expect(asAvailabilityError(noConnection)).toBeInstanceOf(DatabaseUnavailable);
  });

  it('returns the error of a transaction that ran too long unchanged, because the database responds', () => {
    expect(asAvailabilityError(tooLong)).toBe(tooLong);
    expect(isTransient(tooLong)).toBe(true);
    expect(toCallerError(tooLong)).toBeInstanceOf(DatabaseUnavailable);
  });
});

describe('toCallerError', () => {
  it.each(['22021', '22P05'])('reports a text with U+0000 as bad input (%s)', (originalCode) => {
    const meta = { driverAdapterError: { cause: { originalCode } } };
    const failure = Object.assign(new Error('Raw query failed'), { code: 'P2010', meta });
    expect(toCallerError(failure)).toMatchObject({ code: 'bad_request', message: expect.stringContaining('U+0000') });
    expect(toCallerError(Object.assign(new Error('failed'), { code: originalCode }))).toMatchObject({
      code: 'bad_request',
    });
  });
});
