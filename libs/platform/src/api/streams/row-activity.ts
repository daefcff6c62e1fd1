import type { OnModuleDestroy } from '@nestjs/common';

import type { Bus } from '../../bus/bus.js';
import { type Clock, systemClock, type Timer } from '../../clock.js';
import type { Logger } from '../../logger.js';
import { RecentChanges } from './recent-changes.js';

/** A changed row, and the topic whose viewers are notified. */
export interface Change {
  readonly id: string;
  readonly topic: string;
}

/** The result of a read of the rows of a workspace. */
export interface Look<Seen> {
  /** The position from which the next read continues. */
  readonly seen: Seen;
  /** The changes since the previous read; empty at the first one. */
  readonly changed: readonly Change[];
}

interface Topic {
  readonly changes: RecentChanges;
  viewers: number;
}

/** The rows of one workspace, kept while it has viewers. */
interface Watched<Seen> {
  readonly workspaceId: string;
  readonly topics: Map<string, Topic>;
  /** Resolves after the first read, which determines the state at the beginning. */
  begun: Promise<void>;
  seen: Seen | undefined;
  isLooking: boolean;
  /** Whether rows may have changed since the last read began. */
  isDue: boolean;
  /** Runs from the beginning of a read until the next one may begin. */
  rest: Timer | undefined;
}

const maxChanges = 10_000;

/**
 * Detects which rows of a workspace have changed. A hint, a gap of the bus or the clock triggers a read; the subclass defines the cost of a
 * read and what counts as a change. If a hint is lost, a later read finds the change. All viewers of a workspace share its reads. Any number
 * of hints triggers at most one read per `restMs`: the first hint after a pause triggers it at once. The access of a viewer to a changed row
 * is checked when the row is shown.
 */
export abstract class RowActivity<Seen> implements OnModuleDestroy {
  /** Upper limit of the time between two reads, in case a hint is lost. */
  protected readonly pollMs: number = 2_000;
  protected readonly restMs: number = 250;
  protected readonly clock: Clock = systemClock;
  private readonly watched = new Map<string, Watched<Seen>>();
  private leaveBus: readonly (() => void)[] = [];
  private poll: Timer | undefined;

  constructor(
    private readonly bus: Bus,
    private readonly logger: Logger,
  ) {}

  /** The number of workspaces with viewers. */
  get size(): number {
    return this.watched.size;
  }

  /**
   * Yields an empty batch first: from then on no change is missed, so the caller should now read the current rows. Then yields batches of ids
   * of changed rows of this topic, until `signal` aborts. Rejects if the first read fails.
   */
  async *changes(
    { workspaceId, topic = '' }: { readonly workspaceId: string; readonly topic?: string },
    signal: AbortSignal,
  ): AsyncGenerator<readonly string[], void, undefined> {
    const watched = this.watched.get(workspaceId) ?? this.begin(workspaceId);
    const { changes } = enter(watched, topic);
    try {
      await watched.begun;
      const following = changes.follow(signal);
      yield [];
      yield* following;
    } finally {
      this.leave(watched, topic);
    }
  }

  onModuleDestroy(): void {
    this.stop();
    for (const { rest } of this.watched.values()) rest?.cancel();
  }

  /** Reads once and returns the changes since the read that gave `before`; undefined: this is the first read. */
  protected abstract look(workspaceId: string, before: Seen | undefined): Promise<Look<Seen>>;

  /** Subscribes to hints about changes in a workspace. Returns the functions that unsubscribe. */
  protected abstract subscribeToHints(bus: Bus, changed: (workspaceId: string) => void): readonly (() => void)[];

  /** The state that the last read of a workspace with viewers returned. */
  protected seenIn(workspaceId: string): Seen | undefined {
    return this.watched.get(workspaceId)?.seen;
  }

  private begin(workspaceId: string): Watched<Seen> {
    if (this.watched.size === 0) this.listen();
    const watched: Watched<Seen> = {
      ...{ workspaceId, topics: new Map<string, Topic>(), begun: Promise.resolve() },
      ...{ seen: undefined, isLooking: false, isDue: false, rest: undefined },
    };
    this.watched.set(workspaceId, watched);
    watched.begun = this.lookNow(watched);
    return watched;
  }

  private leave(watched: Watched<Seen>, name: string): void {
    const topic = watched.topics.get(name);
    if (topic !== undefined && --topic.viewers === 0) watched.topics.delete(name);
    if (watched.topics.size > 0) return;
    watched.rest?.cancel();
    this.watched.delete(watched.workspaceId);
    if (this.watched.size === 0) this.stop();
  }

  private listen(): void {
    this.leaveBus = [
      ...this.subscribeToHints(this.bus, (workspaceId) => {
        const watched = this.watched.get(workspaceId);
        if (watched !== undefined) this.lookSoon(watched);
      }),
      this.bus.onGap(() => {
        this.lookAtAll();
      }),
    ];
    this.pollLater();
  }

  private stop(): void {
    for (const leave of this.leaveBus) leave();
    this.leaveBus = [];
    this.poll?.cancel();
    this.poll = undefined;
  }

  private pollLater(): void {
    this.poll = this.clock.after(this.pollMs, () => {
      this.lookAtAll();
      this.pollLater();
    });
  }

  private lookAtAll(): void {
    for (const watched of this.watched.values()) this.lookSoon(watched);
  }

  /** Reads now, or after the current read and the pause that follows it. */
  private lookSoon(watched: Watched<Seen>): void {
    watched.isDue = true;
    if (watched.isLooking || watched.rest !== undefined) return;
    this.lookNow(watched).catch((err: unknown) => {
      // The next poll retries. Viewers wait longer and miss nothing.
      this.logger.warn({ err, workspaceId: watched.workspaceId }, 'looking for what has changed failed');
    });
  }

  private lookNow(watched: Watched<Seen>): Promise<void> {
    watched.isDue = false;
    watched.isLooking = true;
    watched.rest = this.clock.after(this.restMs, () => {
      watched.rest = undefined;
      if (watched.isDue) this.lookSoon(watched);
    });
    return this.noteChanges(watched).finally(() => {
      watched.isLooking = false;
      if (watched.isDue && watched.topics.size > 0) this.lookSoon(watched);
    });
  }

  private async noteChanges(watched: Watched<Seen>): Promise<void> {
    const { seen, changed } = await this.look(watched.workspaceId, watched.seen);
    watched.seen = seen;
    for (const { id, topic } of changed) watched.topics.get(topic)?.changes.note(id);
  }
}

function enter({ topics }: Watched<unknown>, name: string): Topic {
  const topic = topics.get(name) ?? { changes: new RecentChanges(maxChanges), viewers: 0 };
  topics.set(name, topic);
  topic.viewers += 1;
  return topic;
}
