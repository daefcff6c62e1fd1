import { describe, expect, it } from '@jest/globals';

import type { GraphqlContext, Viewers } from '#auth/api';
import type { Interrupt } from '#jobs';

import type { InterruptsService } from '../../interrupts/interrupts.service.js';
import type { InterruptActivity } from './interrupt-activity.js';
import { InterruptActivityResolver } from './interrupt-activity.resolver.js';
import type { InterruptFilterInput } from './interrupts.args.js';

const request = (id: string, status: string) => ({ id, status }) as Interrupt;

/** What a viewer is shown, when `changes` follow upon a first list of one open request. */
async function shown(changes: readonly Interrupt[][], filter: InterruptFilterInput | null = null): Promise<string[]> {
  const activity = {
    isKnown: () => true,
    *changes() {
      yield [];
      for (const batch of changes) yield batch.map(({ id }) => id);
    },
  };
  const left = [...changes];
  const interrupts = {
    list: () => Promise.resolve([request('a', 'open')]),
    findMany: () => Promise.resolve(left.shift() ?? []),
  };
  const resolver = new InterruptActivityResolver(
    interrupts as unknown as InterruptsService,
    activity as unknown as InterruptActivity,
    { enterOwn: () => undefined } as unknown as Viewers,
  );
  const context = { member: { workspaceId: 'w' }, forget: () => undefined } as unknown as GraphqlContext;
  const seen: string[] = [];
  for await (const batch of resolver.interruptActivity({ filter }, context)) {
    seen.push(...batch.map(({ id, status }) => `${id} ${status}`));
  }
  return seen;
}

describe('InterruptActivityResolver', () => {
  it('delivers a request once when it opens while the first page is read', async () => {
    expect(await shown([[request('a', 'open'), request('b', 'open')], [request('a', 'resolved')]])).toEqual([
      'a open',
      'b open',
      'a resolved',
    ]);
  });

  it('delivers the end of exactly the requests that it delivered as open, regardless of the filter', async () => {
    const changes = [
      [request('b', 'open')],
      [request('a', 'resolved')],
      [request('c', 'expired'), request('b', 'cancelled')],
    ];
    const open: InterruptFilterInput = { status: { eq: 'open' } };
    expect(await shown(changes, open)).toEqual(['a open', 'b open', 'a resolved', 'b cancelled']);
  });
});
