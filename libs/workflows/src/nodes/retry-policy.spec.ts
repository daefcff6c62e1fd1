import { describe, expect, it } from '@jest/globals';

import type { ErrorHandling } from '../definition/node-fields.js';
import { readNodeData } from '../definition/node-types.js';
import type { NodeError } from '../engine/node-run.js';
import { nextRetryMs, withRetries } from './retry-policy.js';

const handling = (retry?: object): ErrorHandling => {
  const { value } = readNodeData('agent', { label: 'A', model: 'm', errorHandling: { mode: 'stop', retry } });
  if (value === null) throw new Error('unreadable');
  return value.errorHandling;
};
const error = (code: NodeError['code'], retryAfterMs?: number): NodeError => ({
  message: code,
  code,
  nodeId: 'n',
  ...(retryAfterMs === undefined ? {} : { rateLimit: { retryAfterMs } }),
});
const next = (retry: object | undefined, failed: NodeError, retries = 0): number | null =>
  nextRetryMs(handling(retry), { error: failed, isFinal: false, retries });

describe('the retry of a node', () => {
  it('retries twice, after one and two seconds, when the node configures nothing', () => {
    expect([0, 1, 2].map((retries) => next(undefined, error('UNKNOWN'), retries))).toEqual([1_000, 2_000, null]);
  });

  it.each([
    ['doubles', { maxRetries: 9, baseDelay: 100 }, error('TIMEOUT'), 5, 3_200],
    ['is at most 30 s later', { maxRetries: 9, baseDelay: 1_000 }, error('TIMEOUT'), 8, 30_000],
    ['is at most as late as is said', { maxRetries: 9, baseDelay: 1_000, maxDelay: 1_500 }, error('TIMEOUT'), 3, 1_500],
    ['comes when the provider says', { maxRetries: 2 }, error('RATE_LIMIT', 5_000), 0, 5_000],
    ['comes when the provider says, even at once', { maxRetries: 2 }, error('RATE_LIMIT', 0), 0, 0],
    ['is not as late as the provider likes', { maxDelay: 2_000 }, error('RATE_LIMIT', 60_000), 0, 2_000],
    ['is not for what is wrong in itself', {}, error('VALIDATION'), 0, null],
    ['is not for who has no right', {}, error('AUTH'), 0, null],
    ['is for what is not skipped', { skipOn: ['NETWORK'] }, error('AUTH'), 0, 1_000],
    ['is not for what is skipped', { skipOn: ['NETWORK'] }, error('NETWORK'), 0, null],
    ['is for what is listed', { retryOn: ['TIMEOUT'] }, error('TIMEOUT'), 0, 1_000],
    ['is not for what is not listed', { retryOn: ['TIMEOUT'] }, error('NETWORK'), 0, null],
    ['is not for what is listed and skipped', { retryOn: ['AUTH'] }, error('AUTH'), 0, null],
    ['can be off', { maxRetries: 0 }, error('TIMEOUT'), 0, null],
  ] as const)('%s', (...[, retry, failed, retries, delay]) => {
    expect(next(retry, failed, retries)).toBe(delay);
  });

  it('does not come for what would be the same again', () => {
    expect(nextRetryMs(handling(), { error: error('UNKNOWN'), isFinal: true, retries: 0 })).toBeNull();
  });

  it('reports when the last retry is used up', () => {
    expect(withRetries(error('NETWORK'), handling(), [error('TIMEOUT')]).retry).toEqual({
      attempts: 2,
      maxAttempts: 3,
      history: [
        { attempt: 1, code: 'TIMEOUT', message: 'TIMEOUT' },
        { attempt: 2, code: 'NETWORK', message: 'NETWORK' },
      ],
    });
  });
});
