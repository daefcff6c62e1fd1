import { describe, expect, it } from '@jest/globals';

import { type Bus, createLogger } from '#platform';

import { RowActivity } from './row-activity.js';

/** Of rows in memory, two of which it can tell apart. */
class Rows extends RowActivity {
  protected override readonly pollMs = 600_000;
  protected override readonly mostOpen = 2;
  /** Newest first. */
  open: readonly string[] = [];
  changed = (): void => undefined;

  protected readOpen(_: string, limit: number): Promise<readonly string[]> {
    return Promise.resolve(this.open.slice(0, limit));
  }

  protected hear(_: Bus, changed: (workspaceId: string) => void): readonly (() => void)[] {
    this.changed = () => {
      changed('w');
    };
    return [];
  }
}

describe('activity of rows', () => {
  const bus = { onGap: () => () => undefined } as unknown as Bus; // nothing else of it is used here

  it('takes nothing for a change that more than it can hold has hidden or shown', async () => {
    const rows = new Rows(bus, createLogger({ level: 'silent' }));
    rows.open = ['3', '2', '1'];
    const stop = new AbortController();
    const changes = rows.changes('w', stop.signal);
    const told = async (open: readonly string[]) => {
      rows.open = open;
      rows.changed();
      return (await changes.next()).value;
    };
    expect(await changes.next()).toMatchObject({ value: [] });

    expect(await told(['4', '3', '2', '1'])).toEqual(['4']);
    expect(await told(['4', '2', '1'])).toEqual(['3']);
    expect(await told(['1'])).toEqual(['4', '2']);
    expect(await told(['5', '1'])).toEqual(['5']);
    stop.abort();
    await changes.return();
  });
});
