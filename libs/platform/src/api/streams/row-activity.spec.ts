import { describe, expect, it } from '@jest/globals';

import type { Bus } from '../../bus/bus.js';
import { ManualClock } from '../../clock.js';
import { createLogger } from '../../logger.js';
import { type Change, type Look, RowActivity } from './row-activity.js';

/** A `RowActivity` over changes in memory, with a manual clock. */
class Rows extends RowActivity<number> {
  protected override readonly pollMs = 2_000;
  protected override readonly restMs = 250;
  override readonly clock = new ManualClock();
  looks = 0;
  changed: readonly Change[] = [];
  /** Ends the read in progress. */
  finish = (): void => undefined;
  hint = (): void => undefined;

  protected async look(_: string, before: number | undefined): Promise<Look<number>> {
    this.looks += 1;
    if (before !== undefined) await new Promise<void>((resolve) => (this.finish = resolve));
    return { seen: (before ?? 0) + 1, changed: before === undefined ? [] : this.changed };
  }

  protected subscribeToHints(_: Bus, changed: (workspaceId: string) => void): readonly (() => void)[] {
    this.hint = () => {
      changed('w');
    };
    return [];
  }
}

const bus = { onGap: () => () => undefined } as unknown as Bus; // nothing else of it is used here

async function watchRows(...topics: readonly string[]) {
  const rows = new Rows(bus, createLogger({ level: 'silent' }));
  const stop = new AbortController();
  const viewers = topics.map((topic) => rows.changes({ workspaceId: 'w', topic }, stop.signal));
  for (const viewer of viewers) expect(await viewer.next()).toEqual({ done: false, value: [] });
  const leave = async () => {
    stop.abort();
    for (const viewer of viewers) await viewer.return();
  };
  /** Ends the read in progress, and lets its viewers receive the changes. */
  const settle = async () => {
    rows.finish();
    await new Promise(setImmediate);
  };
  return { rows, viewers, leave, settle };
}

describe('RowActivity', () => {
  it('reads once per interval, for any number of hints and viewers', async () => {
    const { rows, leave, settle } = await watchRows('a', 'a', 'b');
    expect(rows.looks).toBe(1);
    for (let i = 0; i < 1_000; i += 1) rows.hint();
    await settle();
    expect(rows.looks).toBe(1);
    rows.clock.advance(249);
    expect(rows.looks).toBe(1);
    rows.clock.advance(1);
    expect(rows.looks).toBe(2);
    for (let i = 0; i < 1_000; i += 1) rows.hint();
    rows.clock.advance(1_000); // a slow look: the next one waits for it, too
    expect(rows.looks).toBe(2);
    await settle();
    expect(rows.looks).toBe(3);
    await settle();
    rows.clock.advance(250);
    expect(rows.looks).toBe(3);
    rows.hint();
    expect(rows.looks).toBe(4);
    await settle();
    await leave();
  });

  it('polls without hints and leaves no timer behind', async () => {
    const { rows, leave, settle } = await watchRows('a');
    rows.clock.advance(2_000);
    expect(rows.looks).toBe(2);
    await settle();
    await leave();
    expect([rows.size, rows.clock.pending]).toEqual([0, 0]);
  });

  it('wakes only the subscribers whose rows have changed', async () => {
    const { rows, viewers, leave, settle } = await watchRows('a', 'b', 'b');
    const heard: string[] = [];
    const reading = viewers.map(async (viewer, i) => {
      for await (const ids of viewer) heard.push(`${i}: ${ids.join()}`);
    });
    const lookAt = async (changed: readonly Change[]) => {
      rows.changed = changed;
      rows.clock.advance(2_000);
      await settle();
    };
    await lookAt([
      { id: '1', topic: 'b' },
      { id: '2', topic: 'c' },
    ]);
    await new Promise<void>((resolve) => {
      const look = () => {
        if (heard.length === 2) resolve();
        else setImmediate(look);
      };
      look();
    });
    expect(heard.toSorted()).toEqual(['1: 1', '2: 1']);
    await leave();
    await Promise.all(reading);
  });
});
