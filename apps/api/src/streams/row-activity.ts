import type { OnModuleDestroy } from '@nestjs/common';

import { type Bus, type Logger, systemClock, type Timer } from '#platform';

import { RecentChanges } from './recent-changes.js';

/** The rows of one workspace, as long as somebody watches. */
interface Watched {
  readonly workspaceId: string;
  readonly changes: RecentChanges;
  /** Resolves once it is known what was open when the watch began. */
  begun: Promise<void>;
  open: ReadonlySet<string>;
  looking: boolean;
  /** Something may have changed since the look that is under way began. */
  dirty: boolean;
  viewers: number;
}

const mostChanges = 10_000;
/** Open rows that are told apart; of a workspace with more, the newest. */
const mostOpen = 5_000;

/**
 * Which rows of a workspace were opened or settled. A hint, a gap of the bus or the clock makes it look at what is open
 * now; what has come or gone since the last look has changed. So nothing is missed whoever forgets to hint, all viewers share
 * one look, and what one viewer may see of it is asked when it is shown.
 */
export abstract class RowActivity implements OnModuleDestroy {
  /** The floor under lost hints. */
  protected readonly pollMs: number = 2_000;
  protected readonly mostOpen: number = mostOpen;
  private readonly watched = new Map<string, Watched>();
  private leaveBus: readonly (() => void)[] = [];
  private poll: Timer | undefined;

  constructor(
    private readonly bus: Bus,
    private readonly logger: Logger,
  ) {}

  /** Workspaces that are watched now. */
  get size(): number {
    return this.watched.size;
  }

  /**
   * First an empty batch: from here on nothing is missed, so now is the time to read what is open. Then batches of ids of
   * rows that have changed, until `signal` aborts. Rejects when the watch cannot begin.
   */
  async *changes(workspaceId: string, signal: AbortSignal): AsyncGenerator<readonly string[], void, undefined> {
    const watched = this.enter(workspaceId);
    try {
      await watched.begun;
      const following = watched.changes.follow(signal);
      yield [];
      yield* following;
    } finally {
      this.leave(watched);
    }
  }

  onModuleDestroy(): void {
    this.stop();
  }

  /** Ids of what is open in a workspace now: the newest `limit`, newest first. */
  protected abstract readOpen(workspaceId: string, limit: number): Promise<readonly string[]>;

  /** Subscribes to hints that something may have changed in a workspace; gives the ways out. */
  protected abstract hear(bus: Bus, changed: (workspaceId: string) => void): readonly (() => void)[];

  private enter(workspaceId: string): Watched {
    const watched = this.watched.get(workspaceId) ?? this.begin(workspaceId);
    watched.viewers += 1;
    return watched;
  }

  private begin(workspaceId: string): Watched {
    if (this.watched.size === 0) this.listen();
    const watched: Watched = {
      ...{ workspaceId, changes: new RecentChanges(mostChanges), begun: Promise.resolve() },
      ...{ open: new Set<string>(), looking: true, dirty: false, viewers: 0 },
    };
    this.watched.set(workspaceId, watched);
    watched.begun = this.begun(watched);
    return watched;
  }

  private async begun(watched: Watched): Promise<void> {
    watched.open = await this.openIn(watched);
    watched.looking = false;
    if (watched.dirty) this.look(watched);
  }

  private leave(watched: Watched): void {
    watched.viewers -= 1;
    if (watched.viewers > 0) return;
    this.watched.delete(watched.workspaceId);
    if (this.watched.size === 0) this.stop();
  }

  private listen(): void {
    this.leaveBus = [
      ...this.hear(this.bus, (workspaceId) => {
        const watched = this.watched.get(workspaceId);
        if (watched !== undefined) this.look(watched);
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
    this.poll = systemClock.after(this.pollMs, () => {
      this.lookAtAll();
      this.pollLater();
    });
  }

  private lookAtAll(): void {
    for (const watched of this.watched.values()) this.look(watched);
  }

  /** One look at a time: a thousand hints while one is under way cost one more. */
  private look(watched: Watched): void {
    watched.dirty = true;
    if (watched.looking) return;
    watched.looking = true;
    this.compare(watched)
      .catch((err: unknown) => {
        // The poll tries again; viewers wait a little longer and lose nothing.
        this.logger.warn({ err, workspaceId: watched.workspaceId }, 'looking for what is open failed');
      })
      .finally(() => {
        watched.looking = false;
      });
  }

  private async compare(watched: Watched): Promise<void> {
    while (watched.dirty && watched.viewers > 0) {
      watched.dirty = false;
      const { open: before, changes } = watched;
      const now = await this.openIn(watched);
      watched.open = now;
      for (const id of this.within(now, before)) changes.note(id);
      for (const id of this.within(before, now)) changes.note(id);
    }
  }

  /** Those of `ids` that the other look did not see, and would have: what is older than all it could hold has not changed. */
  private within(ids: ReadonlySet<string>, other: ReadonlySet<string>): readonly string[] {
    const oldest = other.size < this.mostOpen ? '' : ([...other].at(-1) ?? '');
    return [...ids].filter((id) => !other.has(id) && id > oldest);
  }

  private async openIn({ workspaceId }: Watched): Promise<Set<string>> {
    return new Set(await this.readOpen(workspaceId, this.mostOpen));
  }
}
