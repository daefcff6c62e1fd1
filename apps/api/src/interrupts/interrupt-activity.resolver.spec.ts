import { describe, expect, it } from '@jest/globals';

import type { Interrupt } from '#jobs';
import type { InterruptsService } from '#tools';

import type { GraphqlContext } from '../graphql/graphql-context.js';
import type { Viewers } from '../graphql/sockets/viewers.js';
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

describe('a live inbox', () => {
  it('tells a request once that opens while the first ones are listed', async () => {
    expect(await shown([[request('a', 'open'), request('b', 'open')], [request('a', 'resolved')]])).toEqual([
      'a open',
      'b open',
      'a resolved',
    ]);
  });

  it('tells the end of what it has told as open, whatever the filter says, and of nothing else', async () => {
    const changes = [
      [request('b', 'open')],
      [request('a', 'resolved')],
      [request('c', 'expired'), request('b', 'cancelled')],
    ];
    const open: InterruptFilterInput = { status: { eq: 'open' } };
    expect(await shown(changes, open)).toEqual(['a open', 'b open', 'a resolved', 'b cancelled']);
  });
});
