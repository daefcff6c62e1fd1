import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';

import type { RequestedCall } from '#models';

import type { EarlierCall } from './call-guards.js';
import { type CallPlan, planCalls, type PlannedCall } from './plan-calls.js';
import type { OfferedHandling, OfferedTool } from './resolve-offered.js';

const offer = (name: string, handling: OfferedHandling = 'server', repeatable = false): OfferedTool => ({
  name,
  definition: { type: 'function', function: { name } },
  handling,
  effect: 'pure',
  repeatable,
  sort: 'server',
  version: 'v1',
});
const ask = (name: string, args = '{}', callId = ''): RequestedCall => ({ callId, name, arguments: args });
const plan = (requested: readonly RequestedCall[], with_: Partial<CallPlan> = {}): readonly PlannedCall[] =>
  planCalls(requested, {
    round: 2,
    offered: [
      offer('x'),
      offer('poll', 'server', true),
      offer('theirs', 'clientless'),
      offer('changed', 'unregistered'),
    ],
    earlier: [],
    usedCallIds: new Set(),
    maxCalls: 20,
    ...with_,
  });
const dispositionsOf = (calls: readonly PlannedCall[]): readonly string[] =>
  calls.map(({ disposition: d }) => (d.type !== 'settled' ? d.type : `${d.status}: ${d.failure.message}`));
const earlier = (status: EarlierCall['status'], args = '{"a":1,"b":2}'): EarlierCall => ({
  name: 'x',
  arguments: args,
  status,
});

const IDENTICAL = 'skipped: (skipped: identical tool call already executed this turn)';

describe('planCalls', () => {
  it('runs only offered tools of the server', () => {
    expect(dispositionsOf(plan([ask('x'), ask('nope'), ask('changed'), ask('theirs'), ask('')]))).toEqual([
      'run',
      'skipped: Tool "nope" is not registered on server.',
      'skipped: Tool "changed" is not registered on server.',
      'skipped: Tool "theirs" is client-only.',
      'skipped: Tool "" is not registered on server.',
    ]);
  });

  it('reads the arguments of an earlier call only once for all rounds, and those of a skipped call never', () => {
    let reads = 0;
    const counted = (status: EarlierCall['status']): EarlierCall => ({
      name: 'x',
      get arguments() {
        reads += 1;
        return '{"a":1,"b":2}';
      },
      status,
    });
    const [completed, skipped] = [counted('completed'), counted('skipped')];
    plan([ask('x')], { earlier: [skipped] });
    expect(reads).toBe(0);
    plan([ask('x')], { earlier: [completed] });
    const before = reads;
    expect(dispositionsOf(plan([ask('x', '{"b":2,"a":1}')], { earlier: [completed] }))).toEqual([IDENTICAL]);
    expect([before, reads]).toEqual([1, 1]);
  });

  it('runs no call in a round without tools', () => {
    expect(dispositionsOf(plan([ask('x')], { offered: [] }))).toEqual([
      'skipped: Tool "x" is not registered on server.',
    ]);
  });

  it('skips the calls over the limit of a round', () => {
    const calls = plan(Array.from({ length: 200 }, (_, n) => ask('x', `{"n":${n}}`)));
    expect(dispositionsOf(calls.slice(0, 20)).every((text) => text === 'run')).toBe(true);
    expect(new Set(dispositionsOf(calls.slice(20)))).toEqual(
      new Set(['skipped: Tool call limit for this round reached']),
    );
    expect(calls).toHaveLength(200);
  });

  it('neither stores nor runs arguments that are too large', () => {
    const [call] = plan([ask('x', `{"a":"${'ü'.repeat(40_000)}"}`)]);
    expect(call?.arguments).toBe('{"_omitted":true,"bytes":80008}');
    expect(dispositionsOf(call ? [call] : [])).toEqual([
      'error: Error executing tool "x": arguments exceed 65536 bytes',
    ]);
  });

  it.each(['completed', 'running', 'interrupted'] as const)('does not repeat a call that is %s', (status) => {
    expect(dispositionsOf(plan([ask('x', '{"b":2, "a":1.0}')], { earlier: [earlier(status)] }))).toEqual([IDENTICAL]);
  });

  it.each(['skipped', 'denied', 'cancelled'] as const)('runs a call when an identical earlier one was %s', (status) => {
    expect(dispositionsOf(plan([ask('x', '{"a":1,"b":2}')], { earlier: [earlier(status)] }))).toEqual(['run']);
  });

  it.each(['error', 'timed_out'] as const)('lets a call that ended as %s run twice more', (status) => {
    const twin = ask('x', '{"a":1,"b":2}');
    const after = (failures: number): readonly string[] =>
      dispositionsOf(plan([twin], { earlier: Array.from({ length: failures }, () => earlier(status)) }));
    expect([1, 2, 3, 4].map((n) => after(n)[0])).toEqual(['run', 'run', IDENTICAL, IDENTICAL]);
  });

  it('runs one of several identical calls of a round', () => {
    expect(dispositionsOf(plan([ask('x', '{"a":1}'), ask('x', '{ "a": 1 }'), ask('x', '{"a":2}')]))).toEqual([
      'run',
      IDENTICAL,
      'run',
    ]);
  });

  it('runs identical calls of a repeatable tool', () => {
    const done: EarlierCall = { name: 'poll', arguments: '{}', status: 'completed' };
    expect(dispositionsOf(plan([ask('poll'), ask('poll')], { earlier: [done] }))).toEqual(['run', 'run']);
  });

  it('keeps the id of the provider if it is unused', () => {
    const ids = plan([ask('x', '{}', 'a'), ask('x', '{}', 'used'), ask('x', '{}', 'a'), ask('x')], {
      usedCallIds: new Set(['used', 'call_2_3']),
    }).map((call) => call.callId);
    expect(ids).toEqual(['a', 'call_2_2', 'call_2_3_2', 'call_2_4']);
  });

  it('assigns a unique ordinal and id to every call', () => {
    const requested = fc.array(
      fc.record({
        callId: fc.constantFrom('', 'a', 'call_2_1', 'call_2_3'),
        name: fc.string(),
        arguments: fc.string(),
      }),
      { maxLength: 40 },
    );
    fc.assert(
      fc.property(requested, fc.uniqueArray(fc.constantFrom('a', 'call_2_1', 'call_2_2_2')), (calls, used) => {
        const planned = plan(calls, { usedCallIds: new Set(used) });
        expect(planned.map((call) => call.ordinal)).toEqual(calls.map((_, index) => index + 1));
        expect(new Set([...used, ...planned.map((call) => call.callId)]).size).toBe(used.length + calls.length);
        expect(planned.filter(({ disposition }) => disposition.type === 'run').length).toBeLessThanOrEqual(20);
      }),
    );
  });

  it('replaces characters that Postgres cannot store', () => {
    const [call] = plan([ask('x\u0000', '{"a":"\u0000\uD800"}', 'id')]);
    expect([call?.name, call?.arguments]).toEqual(['x\uFFFD', '{"a":"\uFFFD\uFFFD"}']);
  });
});
