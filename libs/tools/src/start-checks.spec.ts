import { describe, expect, it } from '@jest/globals';

import { StartChecks } from './start-checks.js';

const call = { workspaceId: 'workspace', jobId: 'job', id: 'call' };

describe('StartChecks', () => {
  it('fails at startup without a registered check', () => {
    expect(() => {
      new StartChecks().onApplicationBootstrap();
    }).toThrow('import ApprovalsModule');
  });

  it('calls the registered check', async () => {
    const checks = new StartChecks();
    checks.register({ ask: () => Promise.resolve({ type: 'refuse' }) });
    checks.onApplicationBootstrap();
    expect(await checks.ask(call, null)).toEqual({ type: 'refuse' });
  });
});
