import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';

import { type FeatureFlag, FLAG_NAME, isOn, positionOf, ROLLOUT_UNITS } from './feature-flag.js';

const flagOf = (changes: Partial<FeatureFlag> = {}): FeatureFlag => ({
  ...{ name: 'new-search', description: '', defaultOn: false, rolloutPercent: 0, rolloutBy: 'workspace' },
  ...{ allowed: [], denied: [] },
  ...changes,
});
const names = fc.stringMatching(FLAG_NAME);
const callers = fc.record({ workspaceId: fc.uuid(), userId: fc.option(fc.uuid()) });
const percents = fc.integer({ min: 0, max: 100 });
const units = fc.constantFrom(...ROLLOUT_UNITS);

describe('isOn', () => {
  it('keeps a flag on for a caller when the percentage is raised', () => {
    fc.assert(
      fc.property(
        fc.record({ name: names, caller: callers, rolloutBy: units, given: fc.tuple(percents, percents) }),
        ({ name, caller, rolloutBy, given }) => {
          const [lower, higher] = [Math.min(...given), Math.max(...given)];
          const isOnAt = (rolloutPercent: number) => isOn(flagOf({ name, rolloutBy, rolloutPercent }), caller);
          return !isOnAt(lower) || isOnAt(higher);
        },
      ),
    );
  });

  it('returns the same result for every user of a workspace, or in every workspace of a user', () => {
    fc.assert(
      fc.property(
        names,
        percents,
        fc.tuple(fc.uuid(), fc.uuid(), fc.uuid()),
        (name, rolloutPercent, [same, one, two]) => {
          const byWorkspace = flagOf({ name, rolloutPercent });
          const byUser = flagOf({ name, rolloutPercent, rolloutBy: 'user' });
          expect(isOn(byWorkspace, { workspaceId: same, userId: one })).toBe(
            isOn(byWorkspace, { workspaceId: same, userId: two }),
          );
          expect(isOn(byUser, { workspaceId: one, userId: same })).toBe(
            isOn(byUser, { workspaceId: two, userId: same }),
          );
        },
      ),
    );
  });

  it('returns off for everyone at 0 % and on for everyone at 100 %', () => {
    fc.assert(
      fc.property(names, fc.uuid(), (name, workspaceId) => {
        const isOnAt = (rolloutPercent: number) =>
          isOn(flagOf({ name, rolloutPercent }), { workspaceId, userId: null });
        return !isOnAt(0) && isOnAt(100);
      }),
    );
  });

  it('returns off for an id on the deny list in every case, and on for one on the allow list at 0 %', () => {
    fc.assert(
      fc.property(callers, fc.boolean(), percents, (caller, defaultOn, rolloutPercent) => {
        for (const id of [caller.workspaceId, ...(caller.userId === null ? [] : [caller.userId])]) {
          const denied = flagOf({ defaultOn, rolloutPercent, allowed: [caller.workspaceId], denied: [id] });
          expect(isOn(denied, caller)).toBe(false);
          expect(isOn(flagOf({ allowed: [id] }), caller)).toBe(true);
        }
      }),
    );
  });

  it('returns on for a caller of no user by default only, when the percentage counts users', () => {
    const caller = { workspaceId: '0190a0a0-0000-7000-8000-000000000001', userId: null };
    expect(isOn(flagOf({ rolloutBy: 'user', rolloutPercent: 100 }), caller)).toBe(false);
    expect(isOn(flagOf({ rolloutBy: 'user', defaultOn: true }), caller)).toBe(true);
  });
});

describe('positionOf', () => {
  const ids = Array.from({ length: 10_000 }, (_, at) => `0190a0a0-0000-7000-8000-${String(at).padStart(12, '0')}`);

  it.each([1, 10, 25, 50, 90])('enables a rollout of %i %% for about that share of the workspaces', (percent) => {
    const flag = flagOf({ rolloutPercent: percent });
    const share = ids.filter((workspaceId) => isOn(flag, { workspaceId, userId: null })).length / ids.length;
    expect(Math.abs(share * 100 - percent)).toBeLessThan(1.5);
  });

  it('orders workspaces differently for each flag', () => {
    const isEarly = (flag: string) => (id: string) => positionOf(flag, id) < 10;
    const both = ids.filter(isEarly('new-search')).filter(isEarly('new-editor'));
    expect(both.length / ids.length).toBeCloseTo(0.01, 2);
  });

  it('returns the same position of a workspace in every version of the server', () => {
    expect(positionOf('new-search', '0190a0a0-0000-7000-8000-000000000001')).toBeCloseTo(12.314_316_653, 6);
  });
});
