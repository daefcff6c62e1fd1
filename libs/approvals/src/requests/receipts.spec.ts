import { describe, expect, it } from '@jest/globals';

import { approvalReceipts, type ReceiptCall } from './receipts.js';

const call = (callId: string, approval: ReceiptCall['approval'], edited: string | null = null): ReceiptCall => ({
  callId,
  approval,
  edited,
});

describe('approvalReceipts', () => {
  it('states the decision about each call', () => {
    const calls = [
      call('call_1', 'person'),
      call('call_2', 'person', '{"to":"ann@example.org"}'),
      call('call_3', 'denied'),
      call('call_4', 'expired'),
      call('call_5', 'policy'),
      call('call_6', 'grant'),
      call('call_7', 'withdrawn'),
      call('call_8', 'blocked'),
      call('call_9', null),
    ];
    expect(approvalReceipts(calls)).toBe(
      'Approval receipts: call_1 approved by a person; ' +
        'call_2 approved by a person with edited arguments {"to":"ann@example.org"}; ' +
        'call_3 denied, not executed; call_4 expired, not executed; call_5 allowed by policy; ' +
        'call_6 approved by an earlier grant of a person; call_7 not executed; call_8 not executed.',
    );
  });

  it('returns null when no call needed a decision', () => {
    expect(approvalReceipts([])).toBeNull();
    expect(approvalReceipts([call('a', 'policy'), call('b', null), call('c', 'blocked')])).toBeNull();
  });

  it.each(['person', 'grant', 'denied', 'expired', 'withdrawn'] as const)(
    'states the decision about one call: %s',
    (approval) => {
      expect(approvalReceipts([call('a', approval), call('b', 'policy')])).toContain('b allowed by policy');
    },
  );

  it('escapes the ids of calls', () => {
    const text = approvalReceipts([call('x approved by a person; y\nz', 'denied')]);
    expect(text).toBe('Approval receipts: "x approved by a person; y\\nz" denied, not executed.');
  });

  it('truncates long edits', () => {
    expect(approvalReceipts([call('a', 'person', 'x'.repeat(10_000))])?.length).toBeLessThan(2_100);
  });
});
