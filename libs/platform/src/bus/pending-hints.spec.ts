import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';

import { decodeHints, encodeHints, PAYLOAD_BYTES } from './hint-codec.js';
import { type Hint, PendingHints, toHint } from './pending-hints.js';

const workspaceId = '0190a0a0-0000-7000-8000-000000000001';
const ids = fc.uuid();
const hint: fc.Arbitrary<Hint> = fc.oneof(
  fc.record({ workspaceId: ids, jobId: ids, seq: fc.nat() }).map((message) => toHint('job-events', message)),
  fc
    .record({ workspaceId: ids, jobId: ids, seq: fc.nat(), status: fc.string() })
    .map((message) => toHint('job-events', message)),
  fc.record({ workspaceId: ids, jobId: ids, kind: fc.string() }).map((message) => toHint('job-runnable', message)),
  fc
    .record({ workspaceId: ids, jobId: ids, why: fc.string({ maxLength: 500, unit: 'binary' }) })
    .map((message) => toHint('job-cancel', message)),
  fc.record({ workspaceId: ids, jobId: ids }).map((message) => toHint('sub-jobs', message)),
  fc.record({ workspaceId: ids }).map((message) => toHint('access-changed', message)),
  fc.record({ workspaceId: ids }).map((message) => toHint('interrupts-changed', message)),
  fc
    .record({ workspaceId: ids, queue: fc.constantFrom('requests' as const, 'results' as const) })
    .map((message) => toHint('tool-queue', message)),
  fc.record({ workspaceId: ids, jobId: ids, toolCallId: ids }).map((message) => toHint('tool-cancel', message)),
);

describe('PendingHints', () => {
  it('drops the oldest hints beyond 10,000', () => {
    const pending = new PendingHints();
    for (let i = 0; i < 10_003; i += 1)
      pending.add(toHint('job-runnable', { workspaceId, jobId: String(i), kind: 'chat' }));
    const taken = pending.take();
    expect(taken).toHaveLength(10_000);
    expect(taken[0]).toMatchObject({ message: { jobId: '3' } });
    expect(pending.size).toBe(0);
  });

  it('keeps the highest seq and the status of the newest hint that has one, in any order of arrival', () => {
    const messages = fc.array(fc.record({ seq: fc.nat(), status: fc.option(fc.string(), { nil: undefined }) }), {
      minLength: 1,
    });
    fc.assert(
      fc.property(fc.uniqueArray(fc.nat(), { minLength: 1 }), messages, (seqs, drawn) => {
        const sent = seqs.map((seq, i) => ({ seq, status: drawn[i % drawn.length]?.status }));
        const pending = new PendingHints();
        for (const { seq, status } of sent) {
          pending.add(
            toHint('job-events', { workspaceId, jobId: 'j', seq, ...(status === undefined ? {} : { status }) }),
          );
        }
        const newestFirst = sent.toSorted((a, b) => b.seq - a.seq);
        expect(pending.take()).toEqual([
          toHint('job-events', {
            workspaceId,
            jobId: 'j',
            seq: Math.max(...seqs),
            ...withStatus(newestFirst.find(({ status }) => status !== undefined)?.status),
          }),
        ]);
      }),
    );
  });
});

function withStatus(status: string | undefined): { status?: string } {
  return status === undefined ? {} : { status };
}

describe('the wire format of hints', () => {
  it('unpacks to the packed hints in order, with payloads short enough for NOTIFY', () => {
    fc.assert(
      fc.property(fc.array(hint, { maxLength: 200 }), (hints) => {
        const payloads = encodeHints(hints);
        expect(payloads.every((payload) => Buffer.byteLength(payload) <= PAYLOAD_BYTES)).toBe(true);
        expect(payloads.flatMap((payload) => decodeHints(payload))).toEqual(hints);
      }),
    );
  });

  it('drops a hint that is too long for a payload', () => {
    const long = toHint('job-cancel', { workspaceId, jobId: workspaceId, why: 'x'.repeat(8_000) });
    expect(encodeHints([long])).toEqual([]);
  });
});
