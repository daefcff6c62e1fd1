import { describe, expect, it } from '@jest/globals';

import { bodyLimitOf } from './body-limit.js';

const server = 4_194_304;

describe('body size limit', () => {
  it.each([
    ['/api/jobs', server],
    ['/graphql', server],
    ['/api/jobs/j/client-tool/claim', 4_096],
    ['/api/jobs/j/client-tool/validate?x=/', 4_096],
    ['/API/jobs/j/Client-Tool/claim/', 4_096],
    ['/api/jobs/j/client-tool/result', 1_589_248],
    ['/api/jobs/j/client-tool/other', server],
    ['/x/api/jobs/j/client-tool/claim', server],
    ['/api/workflows/background', 262_144],
    ['/api/workflows/hitl', 1_589_248],
  ])('sent to %s is %d bytes', (url, bytes) => {
    expect(bodyLimitOf(url, server)).toBe(bytes);
  });

  it('never exceeds the maximum of the server', () => {
    expect(bodyLimitOf('/api/jobs/j/client-tool/result', 10_000)).toBe(10_000);
  });
});
