import { describe, expect, it } from '@jest/globals';

import { unknownOutcomeRequest } from './unknown-outcome-request.js';

const job = { workspaceId: 'w', jobId: 'j', threadId: null, createdBy: 'u' };

function shown(args: string, sensitiveFields: readonly string[] = []): Readonly<Record<string, unknown>> {
  const call = { toolCallId: 't', callId: 'c', name: 'send', arguments: args, sensitiveFields };
  return unknownOutcomeRequest(job, call, { worker: null, verification: null }).request;
}

describe('the request about an unknown outcome', () => {
  it('shows the executed arguments, and reports when a part of them is missing', () => {
    expect(shown('{"to":"ann","pin":1}', ['pin'])).toMatchObject({
      argumentsPreview: 'to: "ann"\npin: "***"',
      argumentsTruncated: false,
    });
    expect(shown('{"to":"ann, sk-abcdefghijklmnopqrst"}')).toMatchObject({
      argumentsPreview: 'to: "ann, ***"',
      argumentsTruncated: true,
    });
    expect(shown('nonsense')).toMatchObject({ argumentsTruncated: true });
  });
});
