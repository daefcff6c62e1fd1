import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';

import { readRequest, readResult } from './queue-message.js';

const place = {
  correlation_id: '0190a0a0-0000-7000-8000-000000000001',
  workspace_id: '0190a0a0-0000-7000-8000-000000000002',
  job_id: '0190a0a0-0000-7000-8000-000000000003',
};
const progress = {
  ...{ type: 'tool_progress', ...place, seq: 1, chunk: { progress: 1 } },
  ...{ is_final_chunk: false, timestamp: 1, exec_epoch: 1 },
};
const cancel = { type: 'cancel_request', ...place, issued_by: 'user:a', timestamp: 1 };

describe('readRequest and readResult', () => {
  it('return only messages of their queue, also with fields of a newer build', () => {
    expect(readResult({ ...progress, mood: 'good' })).toMatchObject(progress);
    expect(readResult({ ...progress, chunk: 'half way' })).toMatchObject({ chunk: 'half way' });
    expect(readRequest(cancel)).toMatchObject(cancel);
    expect([readRequest(progress), readResult(cancel)]).toEqual([null, null]);
  });

  it('return null for a message without its ids, or with an invalid id', () => {
    for (const member of Object.keys(place)) {
      expect(readResult({ ...progress, [member]: undefined })).toBeNull();
      expect(readRequest({ ...cancel, [member]: "1' OR 1=1" })).toBeNull();
    }
    expect(readResult({ ...progress, seq: 0 })).toBeNull();
    expect(readResult({ ...progress, exec_epoch: -1 })).toBeNull();
  });

  it('return null for any other JSON value', () => {
    fc.assert(
      fc.property(fc.jsonValue(), (data) => {
        expect([readRequest(data), readResult(data)]).toEqual([null, null]);
      }),
    );
  });
});
