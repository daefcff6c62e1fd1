import { Injectable } from '@nestjs/common';

import { EventFeed, type FeedItem, type FollowOptions, type JobKind, jobNotFound } from '#jobs';
import { type Clock, systemClock } from '#platform';
import { type WorkflowState, WorkflowStateReader } from '#workflows';

import type { JobFeed, StateItem, ViewedItem } from './viewed-item.js';

/** Minimum time (ms) between two reads of the state of a job, and between two states that a viewer gets. */
export const stateIntervalMs = 120;

interface SharedStateParts {
  readonly read: () => Promise<WorkflowState>;
  readonly clock: Clock;
}

/** The state of one workflow job for all its viewers in this process: read when a viewer needs a newer one, at most once per interval. */
export class SharedState {
  /** Undefined: not read yet. */
  private latest: WorkflowState | undefined;
  private reading: Promise<void> | undefined;
  private readableAt = -Infinity;

  constructor(private readonly parts: SharedStateParts) {}

  /** Returns the state after event `seq` or later, the same object until a viewer needs a newer one. Rejects as `read`. */
  async since(seq: number): Promise<WorkflowState> {
    // A read that was already running may not include the event.
    while (this.latest === undefined || this.latest.version < seq) await (this.reading ??= this.readInTime());
    return this.latest;
  }

  private async readInTime(): Promise<void> {
    const { clock, read } = this.parts;
    try {
      await until(clock, this.readableAt);
      this.latest = await read();
    } finally {
      this.readableAt = clock.monotonic() + stateIntervalMs;
      this.reading = undefined;
    }
  }
}

/** Resolves at an instant of the monotonic clock, or immediately if it has passed. */
function until(clock: Clock, at: number): Promise<void> {
  const leftMs = at - clock.monotonic();
  return leftMs <= 0
    ? Promise.resolve()
    : new Promise((resolve) => {
        clock.after(leftMs, resolve);
      });
}

type Items = AsyncGenerator<FeedItem, void, undefined>;

interface WorkflowFeedParts {
  readonly events: { follow(options: FollowOptions): Items };
  readonly state: SharedState;
  readonly clock: Clock;
  /** Changes of the state are sent from this event on; null: only snapshots contain the state. */
  readonly statesFrom: number | null;
}

/**
 * A workflow job for one viewer: its events, and its whole state at most every 120 ms, only after new events. The feed remembers what the
 * viewer got when it restarts from another number, so versions never decrease.
 */
export class WorkflowFeed implements JobFeed {
  /** The number of the last event that the viewer got. */
  private seen = 0;
  /** The version of the last state that the viewer got. */
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
      // `next` of the feed may wait for an event. The abort ends that wait when the viewer leaves.
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
      // A snapshot already contains the newest state.
      change = turn.value.type === 'snapshot' ? this.change() : (change ?? this.change());
      next = items.next();
    }
  }

  /** The next state for the viewer; undefined: the viewer is up to date. Null: the viewer got that state or a newer one meanwhile. */
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

/** The job that a viewer follows, and how. */
export interface FeedRequest {
  readonly workspaceId: string;
  readonly jobId: string;
  readonly kind: JobKind;
  /** For a workflow: each change of its state is sent from this event on; null: only snapshots contain the state. */
  readonly statesFrom: number | null;
}

/** A feed that a viewer follows. */
export interface OpenFeed {
  readonly feed: JobFeed;
  /** Must be called once, when the viewer stops following. */
  readonly close: () => void;
}

/** The feeds of jobs for viewers: events and, for workflows, the state. */
@Injectable()
export class JobFeeds {
  private readonly watched = new Map<string, { readonly state: SharedState; viewers: number }>();

  constructor(
    private readonly events: EventFeed,
    private readonly reader: WorkflowStateReader,
  ) {}

  /** The number of workflow jobs whose state this process caches; zero without viewers. */
  get size(): number {
    return this.watched.size;
  }

  open({ workspaceId, jobId, kind, statesFrom }: FeedRequest): OpenFeed {
    const { events } = this;
    if (kind !== 'workflow') return { feed: events, close: () => undefined };
    const key = `${workspaceId}/${jobId}`;
    const read = (): Promise<WorkflowState> => this.read(workspaceId, jobId);
    const watched = this.watched.get(key) ?? { state: new SharedState({ read, clock: systemClock }), viewers: 0 };
    watched.viewers += 1;
    this.watched.set(key, watched);
    const close = (): void => {
      watched.viewers -= 1;
      if (watched.viewers === 0) this.watched.delete(key);
    };
    return { feed: new WorkflowFeed({ events, state: watched.state, clock: systemClock, statesFrom }), close };
  }

  private async read(workspaceId: string, jobId: string): Promise<WorkflowState> {
    const state = await this.reader.read(workspaceId, jobId);
    if (state === null) throw jobNotFound();
    return state;
  }
}
