import { describe, expect, it } from '@jest/globals';

import type { ErrorHandling } from '../definition/node-fields.js';
import { readNodeData } from '../definition/node-types.js';
import type { NodeError } from '../engine/node-run.js';
import { nextRetryMs, withRetryHistory } from './retry-policy.js';

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
    ['doubles its delay', { maxRetries: 9, baseDelay: 100 }, error('TIMEOUT'), 5, 3_200],
    ['waits at most 30 s', { maxRetries: 9, baseDelay: 1_000 }, error('TIMEOUT'), 8, 30_000],
    ['waits at most maxDelay', { maxRetries: 9, baseDelay: 1_000, maxDelay: 1_500 }, error('TIMEOUT'), 3, 1_500],
    ['waits for Retry-After', { maxRetries: 2 }, error('RATE_LIMIT', 5_000), 0, 5_000],
    ['follows a Retry-After of zero', { maxRetries: 2 }, error('RATE_LIMIT', 0), 0, 0],
    ['caps Retry-After at maxDelay', { maxDelay: 2_000 }, error('RATE_LIMIT', 60_000), 0, 2_000],
    ['skips validation failures', {}, error('VALIDATION'), 0, null],
    ['skips authorization failures', {}, error('AUTH'), 0, null],
    ['covers codes missing from skipOn', { skipOn: ['NETWORK'] }, error('AUTH'), 0, 1_000],
    ['skips codes in skipOn', { skipOn: ['NETWORK'] }, error('NETWORK'), 0, null],
    ['covers codes in retryOn', { retryOn: ['TIMEOUT'] }, error('TIMEOUT'), 0, 1_000],
    ['skips codes missing from retryOn', { retryOn: ['TIMEOUT'] }, error('NETWORK'), 0, null],
    ['lets skipOn win over retryOn', { retryOn: ['AUTH'] }, error('AUTH'), 0, null],
    ['can be turned off', { maxRetries: 0 }, error('TIMEOUT'), 0, null],
  ] as const)('%s', (...[, retry, failed, retries, delay]) => {
    expect(next(retry, failed, retries)).toBe(delay);
  });

  it('does not follow a final failure', () => {
    expect(nextRetryMs(handling(), { error: error('UNKNOWN'), isFinal: true, retries: 0 })).toBeNull();
  });

  it('reports when the last retry is used up', () => {
    expect(withRetryHistory(error('NETWORK'), handling(), [error('TIMEOUT')]).retry).toEqual({
      attempts: 2,
      maxAttempts: 3,
      history: [
        { attempt: 1, code: 'TIMEOUT', message: 'TIMEOUT' },
        { attempt: 2, code: 'NETWORK', message: 'NETWORK' },
      ],
    });
  });
});
