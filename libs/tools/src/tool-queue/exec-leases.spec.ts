import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';

import { createLogger, ManualClock } from '#platform';

import type { ClaimedCall } from './exec-claims.repository.js';
import { ClaimLost, ExecLeases } from './exec-leases.js';

const leaseMs = 30_000;

function call(id: string): ClaimedCall {
  return { id, workspaceId: 'w', jobId: 'j', epoch: 1 } as ClaimedCall; // what a lease looks at
}

describe('ExecLeases', () => {
  let clock: ManualClock;
  let leases: ExecLeases;
  /** What the table answers; an error: it is away. */
  let held: ReadonlySet<string> | Error;
  let asked: string[][];
  let lost: [string, string][];

  beforeEach(() => {
    clock = new ManualClock();
    held = new Set(['a', 'b']);
    asked = [];
    lost = [];
    const renew = (claims: readonly { readonly id: string }[]) => {
      asked.push(claims.map(({ id }) => id));
      return held instanceof Error ? Promise.reject(held) : Promise.resolve(held);
    };
    leases = new ExecLeases({ renew }, { leaseMs, clock, logger: createLogger({ level: 'silent' }) });
    for (const id of ['a', 'b']) {
      leases.add(call(id), clock.monotonic(), (reason) => {
        if (reason instanceof ClaimLost) lost.push([id, reason.why]);
      });
    }
  });

  afterEach(() => {
    for (const id of ['a', 'b']) leases.remove(call(id));
    expect(clock.pending).toBe(0);
  });

  const pass = async (ms: number) => {
    clock.advance(ms);
    for (let turn = 0; turn < 5; turn++) await Promise.resolve();
  };

  it('renews all of them together, every third of the lease', async () => {
    for (let third = 1; third <= 6; third++) await pass(leaseMs / 3);
    expect(asked).toEqual(Array.from({ length: 6 }, () => ['a', 'b']));
    expect([leases.isValid(call('a')), lost]).toEqual([true, []]);
  });

  it('gives up a call that the table does not know as ours any more', async () => {
    held = new Set(['b']);
    await pass(leaseMs / 3);
    expect([lost, leases.isValid(call('a')), leases.isValid(call('b'))]).toEqual([[['a', 'withdrawn']], false, true]);
  });

  it('gives up every call before its claim ends when the database does not respond', async () => {
    held = new Error('away');
    await pass(leaseMs / 3);
    expect(lost).toEqual([]);
    await pass(leaseMs / 3);
    expect(lost).toEqual([
      ['a', 'not renewed'],
      ['b', 'not renewed'],
    ]);
  });

  it('holds nothing any more for a process that woke up too late, before any timer has run', () => {
    const late = new ExecLeases(
      { renew: () => Promise.resolve(new Set<string>()) },
      { leaseMs, clock, logger: createLogger({ level: 'silent' }) },
    );
    late.add(call('c'), clock.monotonic() - leaseMs, () => undefined);
    expect(late.isValid(call('c'))).toBe(false);
    late.remove(call('c'));
  });

  it('asks at once about calls that something was heard of', async () => {
    held = new Set(['b']);
    await leases.ask(({ id }) => id === 'a');
    expect(asked).toEqual([['a']]);
    expect(lost).toEqual([['a', 'withdrawn']]);
  });

  it('does not mind a call that ends while it is asked about', async () => {
    held = new Set();
    const asking = leases.ask(() => true);
    leases.remove(call('a'));
    await asking;
    expect(lost).toEqual([['b', 'withdrawn']]);
  });
});
