import type { FeedItem, FollowOptions } from '#jobs';
import type { Clock } from '#platform';
import type { WorkflowState } from '#workflows';

import { type SharedState, stateIntervalMs, until } from './shared-state.js';
import type { JobFeed, StateItem, ViewedItem } from './viewed-item.js';

type Items = AsyncGenerator<FeedItem, void, undefined>;

export interface WorkflowFeedParts {
  readonly events: { follow(options: FollowOptions): Items };
  readonly state: SharedState;
  readonly clock: Clock;
  /** The event from which on changes are sent; null: the state comes with snapshots only. */
  readonly statesFrom: number | null;
}

/**
 * A workflow job for one viewer: its events, and its state whole, at most every 120 ms and only when something has happened
 * since. What was shown is remembered when the viewer begins again from another number; versions never go back.
 */
export class WorkflowFeed implements JobFeed {
  /** The last event that was given. */
  private seen = 0;
  /** The version of the state that was given last. */
  private shown = -1;
  private showableAt = -Infinity;

  constructor(private readonly parts: WorkflowFeedParts) {}

  async *follow(options: FollowOptions): AsyncGenerator<ViewedItem, void, undefined> {
    const left = new AbortController();
    const signal = AbortSignal.any([options.signal, left.signal]);
    const items = this.parts.events.follow({ ...options, signal });
    this.seen = options.after ?? this.seen;
    try {
      yield* this.merged(items, options.after !== undefined);
    } finally {
      // A viewer that leaves between two events does not wait for the next one.
      left.abort();
      await items.return();
    }
  }

  private async *merged(items: Items, isResumed: boolean): AsyncGenerator<ViewedItem, void, undefined> {
    let next = items.next();
    let change = isResumed ? this.change() : undefined;
    for (;;) {
      const turn = await (change === undefined ? next : Promise.race([next, change]));
      if (turn === null || 'state' in turn) {
        if (turn !== null) yield this.show(turn);
        change = this.change();
        continue;
      }
      if (turn.done === true) return;
      yield await this.complete(turn.value);
      // With a snapshot came the newest state.
      change = turn.value.type === 'snapshot' ? this.change() : (change ?? this.change());
      next = items.next();
    }
  }

  /** The next state to show; undefined when the viewer is up to date. Null: that state or a newer one was shown meanwhile. */
  private change(): Promise<Pick<StateItem, 'type' | 'state'> | null> | undefined {
    const { statesFrom } = this.parts;
    if (statesFrom === null || this.seen < statesFrom || this.seen <= this.shown) return undefined;
    return this.stateSince(this.seen).then((state) =>
      state.version <= this.shown ? null : { type: 'workflow-state', state },
    );
  }

  private async complete(item: FeedItem): Promise<ViewedItem> {
    if (item.type === 'events') {
      this.seen = item.events.at(-1)?.seq ?? this.seen;
      return item;
    }
    this.seen = item.snapshot.seq;
    const state = await this.stateSince(this.seen);
    this.show({ state });
    return { ...item, state };
  }

  private show({ state }: { readonly state: WorkflowState }): StateItem {
    this.shown = state.version;
    this.showableAt = this.parts.clock.monotonic() + stateIntervalMs;
    return { type: 'workflow-state', state, after: this.seen };
  }

  private async stateSince(seq: number): Promise<WorkflowState> {
    await until(this.parts.clock, this.showableAt);
    return this.parts.state.since(seq);
  }
}
