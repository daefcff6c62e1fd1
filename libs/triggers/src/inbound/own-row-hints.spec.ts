import { setImmediate } from 'node:timers/promises';

import { describe, expect, it } from '@jest/globals';

import { type Bus, ManualClock } from '#platform';

import type { Changes } from './changes.service.js';
import type { OwnKind } from './own-kinds.js';
import { OwnRowHints } from './own-row-hints.js';
import type { TriggersRepository } from './triggers.repository.js';

type Listener = (message: { readonly workspaceId: string; readonly status?: string }) => void;

/** Hints over a bus that the test drives. `counts`: how often each workspace was read, looked at and announced. */
function open(given: readonly OwnKind[]) {
  const counts = { read: 0, looked: 0, sent: 0 };
  const watched = { kinds: given, hasChanges: true };
  let listener: Listener = () => undefined;
  const triggers = { ownKinds: () => Promise.resolve(new Set(((counts.read += 1), watched.kinds))) };
  const changes = { announce: () => Promise.resolve(((counts.looked += 1), watched.hasChanges)) };
  const bus = { subscribe: (_: string, given: Listener) => ((listener = given), () => (listener = () => undefined)) };
  const hints = new OwnRowHints(
    changes as unknown as Changes,
    triggers as unknown as TriggersRepository,
    bus as unknown as Bus,
  );
  const clock = new ManualClock();
  hints.clock = clock;
  const leave = hints.listen(() => (counts.sent += 1));
  const hint = async (status?: string) => {
    listener({ workspaceId: 'w', ...(status === undefined ? {} : { status }) });
    await setImmediate();
  };
  const pass = async (ms: number) => {
    clock.advance(ms);
    await setImmediate();
  };
  return { counts, watched, hint, pass, leave };
}

describe('OwnRowHints', () => {
  it('looks for changes once in 250 ms, and again after a hint within this time', async () => {
    const { counts, hint, pass } = open(['messages']);
    for (let i = 0; i < 5; i++) await hint();
    expect(counts).toEqual({ read: 1, looked: 1, sent: 1 });
    await pass(250);
    expect(counts.looked).toBe(2);
    await pass(250);
    expect(counts.looked).toBe(2);
    await hint();
    expect(counts.looked).toBe(3);
  });

  it('looks for changes of jobs after a hint with a status only', async () => {
    const { counts, hint } = open(['jobs']);
    await hint();
    expect(counts.looked).toBe(0);
    await hint('running');
    expect(counts.looked).toBe(1);
  });

  it('reads the triggers of a workspace without any at most every 2 s, after a hint with a status', async () => {
    const { counts, watched, hint, pass } = open([]);
    await hint('running');
    await hint('completed');
    await pass(2_000);
    await hint();
    expect(counts).toEqual({ read: 1, looked: 0, sent: 0 });
    watched.kinds = ['tool-calls'];
    await hint('queued');
    expect(counts).toEqual({ read: 2, looked: 1, sent: 1 });
  });

  it('sends nothing without changes, and does nothing after it was stopped', async () => {
    const { counts, watched, hint, pass, leave } = open(['messages']);
    watched.hasChanges = false;
    await hint();
    expect(counts).toMatchObject({ looked: 1, sent: 0 });
    await pass(250);
    leave();
    await hint();
    expect(counts.looked).toBe(1);
  });
});
