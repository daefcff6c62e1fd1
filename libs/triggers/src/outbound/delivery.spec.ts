import { describe, expect, it } from '@jest/globals';

import { judgeResponse, nextDelayMs } from './delivery.js';

const now = Date.UTC(2026, 0, 1);
const judge = (status: number, headers: Readonly<Record<string, string>> = {}) =>
  judgeResponse({ status, headers }, now);

describe('judgeResponse', () => {
  it.each([200, 201, 204, 299])('counts %i as delivered', (status) => {
    expect(judge(status)).toEqual({ kind: 'delivered' });
  });

  it.each([408, 425, 429, 500, 503, 301, 304])('retries %i', (status) => {
    expect(judge(status)).toEqual({ kind: 'retry', error: `http_${status}` });
  });

  it.each([400, 401, 404, 422])('makes %i a dead letter at once', (status) => {
    expect(judge(status)).toEqual({ kind: 'dead', reason: `http_${status}` });
  });

  it('disables the endpoint after 410', () => {
    expect(judge(410)).toEqual({ kind: 'dead', reason: 'http_410', disables: true });
  });

  it.each([
    ['120', 120_000],
    ['0', 0],
    [new Date(now + 60_000).toUTCString(), 60_000],
    [new Date(now - 60_000).toUTCString(), 0],
    ['9999999', 24 * 3_600_000],
  ])('reads Retry-After %s', (header, notBeforeMs) => {
    expect(judge(429, { 'retry-after': header })).toMatchObject({ notBeforeMs });
  });

  it('ignores an unreadable Retry-After', () => {
    expect(judge(503, { 'retry-after': 'soon' })).toEqual({ kind: 'retry', error: 'http_503' });
  });
});

describe('nextDelayMs', () => {
  it('follows the schedule of endpoints for ten attempts', () => {
    const delays = Array.from({ length: 10 }, (_, i) => nextDelayMs(null, i + 1, () => 0.5));
    const hours = (count: number) => count * 3_600_000;
    expect(delays).toEqual([5_000, 300_000, 1_800_000, ...[2, 5, 10, 14, 20, 24].map(hours), null]);
  });

  it('varies the schedule of endpoints by a tenth', () => {
    expect([0, 1].map((value) => nextDelayMs(null, 1, () => value))).toEqual([4_500, 5_500]);
  });

  it('doubles the backoff of a trigger up to its limit', () => {
    const policy = { maxAttempts: 5, initialBackoffMs: 1_000, maxBackoffMs: 3_000, timeoutMs: 1_000 };
    const delays = Array.from({ length: 5 }, (_, i) => nextDelayMs(policy, i + 1, () => 0));
    expect(delays).toEqual([1_000, 2_000, 3_000, 3_000, null]);
  });
});
