import { describe, expect, it } from '@jest/globals';

import { asAvailabilityError, isTransient, toUnavailable } from './availability.js';
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
    expect(toUnavailable(tooLong)).toBeInstanceOf(DatabaseUnavailable);
  });
});
