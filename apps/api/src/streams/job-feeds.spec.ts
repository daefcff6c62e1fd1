import { describe, expect, it } from '@jest/globals';

import type { FeedItem, FollowOptions } from '#jobs';
import { ManualClock } from '#platform';
import type { WorkflowState } from '#workflows';

import { SharedState, stateIntervalMs, WorkflowFeed } from './job-feeds.js';
import type { ViewedItem } from './viewed-item.js';

type Fact = { readonly snapshot: number } | { readonly event: number };

/** A job whose log the test writes, and a viewer of it. */
function scene({ statesFrom = 0, version = 0 }: { readonly statesFrom?: number | null; version?: number } = {}) {
  const clock = new ManualClock();
  const facts: Fact[] = [];
  let wake = Promise.withResolvers<undefined>();
  const received: string[] = [];
  const say = async (...more: Fact[]) => {
    facts.push(...more);
    version = Math.max(version, ...more.map((fact) => ('event' in fact ? fact.event : fact.snapshot)));
    wake.resolve(undefined);
    await settled();
  };
  const events = {
    async *follow({ signal }: FollowOptions): AsyncGenerator<FeedItem, void, undefined> {
      const gone = new Promise((resolve) => {
        signal.addEventListener('abort', resolve);
      });
      while (!signal.aborted) {
        const fact = facts.shift();
        if (fact !== undefined) yield toItem(fact);
        else {
          wake = Promise.withResolvers();
          await Promise.race([wake.promise, gone]);
        }
      }
    },
  };
  const read = () => Promise.resolve({ version } as WorkflowState); // only the version is looked at
  const feed = new WorkflowFeed({ events, state: new SharedState({ read, clock }), clock, statesFrom });
  const abort = new AbortController();
  /** Until `enough` returns true. */
  const watch = async (after?: number, enough: (item: ViewedItem) => boolean = () => false) => {
    for await (const item of feed.follow({ workspaceId: 'w', jobId: 'j', after, signal: abort.signal })) {
      received.push(toText(item));
      if (enough(item)) return;
    }
  };
  const pass = async (ms: number) => {
    clock.advance(ms);
    await settled();
  };
  return { received, say, watch, pass, abort };
}

const settled = () => new Promise(setImmediate);

/** What is looked at of it. */
function toItem(fact: Fact): FeedItem {
  const item =
    'event' in fact
      ? { type: 'events', events: [{ seq: fact.event }] }
      : { type: 'snapshot', snapshot: { seq: fact.snapshot }, reset: false };
  return item as unknown as FeedItem;
}

function toText(item: ViewedItem): string {
  switch (item.type) {
    case 'events':
      return `event ${item.events[0]?.seq ?? 0}`;
    case 'snapshot':
      return `snapshot ${item.snapshot.seq} with ${item.state?.version ?? 'nothing'}`;
    case 'workflow-state':
      return `state ${item.state.version} after ${item.after}`;
  }
}

describe('WorkflowFeed', () => {
  it('adds the state to each snapshot', async () => {
    const { received, say, watch, abort } = scene();
    const watching = watch();
    await say({ snapshot: 3 });
    expect(received).toEqual(['snapshot 3 with 3']);
    abort.abort();
    await watching;
  });

  it('sends events at once, and one state for all of them after the interval', async () => {
    const { received, say, watch, pass, abort } = scene();
    const watching = watch();
    await say({ snapshot: 3 });
    await say({ event: 4 });
    await pass(stateIntervalMs - 1);
    await say({ event: 5 });
    expect(received.slice(1)).toEqual(['event 4', 'event 5']);
    await pass(1);
    expect(received.slice(3)).toEqual(['state 5 after 5']);
    await pass(10 * stateIntervalMs);
    expect(received).toHaveLength(4);
    abort.abort();
    await watching;
  });

  it('sends the state only with snapshots when the stream requests no others', async () => {
    const { received, say, watch, pass, abort } = scene({ statesFrom: null });
    const watching = watch();
    await say({ snapshot: 3 });
    await say({ event: 4 });
    await pass(10 * stateIntervalMs);
    expect(received).toEqual(['snapshot 3 with 3', 'event 4']);
    abort.abort();
    await watching;
  });

  it('sends the state to a reconnected viewer after the events that the state includes', async () => {
    const { received, say, watch, pass, abort } = scene({ statesFrom: 5 });
    const watching = watch(3);
    await say({ event: 4 });
    await pass(stateIntervalMs);
    expect(received).toEqual(['event 4']);
    await say({ event: 5 });
    expect(received).toEqual(['event 4', 'event 5', 'state 5 after 5']);
    abort.abort();
    await watching;
  });

  it('sends the state to a reconnected viewer even if nothing has happened', async () => {
    const { received, say, watch, abort } = scene({ statesFrom: 5, version: 6 });
    const watching = watch(5);
    await say();
    expect(received).toEqual(['state 6 after 5']);
    abort.abort();
    await watching;
  });

  it('lets a viewer leave between two events and resume from its position', async () => {
    const { received, say, watch, pass, abort } = scene();
    const watching = watch(undefined, ({ type }) => type === 'workflow-state');
    await say({ snapshot: 3 });
    await say({ event: 4 });
    await pass(stateIntervalMs);
    await watching;
    const again = watch(4);
    await say({ event: 5 });
    await pass(stateIntervalMs);
    expect(received).toEqual(['snapshot 3 with 3', 'event 4', 'state 4 after 4', 'event 5', 'state 5 after 5']);
    abort.abort();
    await again;
  });
});

/** A state whose reads the test answers by their versions. */
function stateScene() {
  const clock = new ManualClock();
  const reads: PromiseWithResolvers<WorkflowState>[] = [];
  const read = () => {
    const asked = Promise.withResolvers<WorkflowState>();
    reads.push(asked);
    return asked.promise;
  };
  const answer = async (at: number, version: number) => {
    await settled();
    reads[at]?.resolve({ version } as WorkflowState); // only the version is looked at
    await settled();
  };
  return { clock, reads, answer, state: new SharedState({ read, clock }) };
}

describe('SharedState', () => {
  it('reads once for concurrent viewers', async () => {
    const { state, reads, answer } = stateScene();
    const viewers = [1, 2, 3].map((seq) => state.since(seq));
    await settled();
    expect(reads).toHaveLength(1);
    await answer(0, 3);
    const [first, ...others] = await Promise.all(viewers);
    expect(others).toEqual([first, first]);
  });

  it('does not read again when nothing has changed', async () => {
    const { state, reads, answer, clock } = stateScene();
    const first = state.since(1);
    await answer(0, 5);
    clock.advance(10 * stateIntervalMs);
    expect(await state.since(5)).toBe(await first);
    expect(reads).toHaveLength(1);
  });

  it('reads again after the interval for a viewer that has a newer event', async () => {
    const { state, reads, answer, clock } = stateScene();
    const first = state.since(1);
    await answer(0, 5);
    await first;
    const next = state.since(6);
    clock.advance(stateIntervalMs - 1);
    await settled();
    expect(reads).toHaveLength(1);
    clock.advance(1);
    await settled();
    await answer(1, 7);
    expect(await next).toMatchObject({ version: 7 });
  });

  it('reads again when the current read began before the event', async () => {
    const { state, answer, clock } = stateScene();
    void state.since(1);
    const late = state.since(6);
    await answer(0, 5);
    clock.advance(stateIntervalMs);
    await settled();
    await answer(1, 6);
    expect(await late).toMatchObject({ version: 6 });
  });

  it('reads again after a failed read', async () => {
    const { state, reads, answer, clock } = stateScene();
    const failed = state.since(1);
    await settled();
    reads[0]?.reject(new Error('the database is away'));
    await expect(failed).rejects.toThrow('away');
    const next = state.since(1);
    clock.advance(stateIntervalMs);
    await settled();
    await answer(1, 1);
    expect(await next).toMatchObject({ version: 1 });
  });
});
