import { Inject, Injectable } from '@nestjs/common';
import { LRUCache } from 'lru-cache';

import { BUS, type Bus, type Clock, systemClock } from '#platform';

import { Changes } from './changes.service.js';
import type { OwnKind } from './own-kinds.js';
import { TriggersRepository } from './triggers.repository.js';

/** A workspace is checked once in this time. */
const spacingMs = 250;
/** Maximum age of the cached kinds of a workspace. */
const kindsMs = 2_000;
const maxWorkspaces = 10_000;

interface KnownKinds {
  readonly readAt: number;
  readonly kinds: Promise<ReadonlySet<OwnKind>>;
}

/**
 * Sends the queue message of changes of own rows. The transactions that change them send none, because any code may write them: the hint after a
 * commit makes a worker look for changes. If the hint is lost, the sweep finds them.
 */
@Injectable()
export class OwnRowHints {
  /** Tests replace it. */
  clock: Clock = systemClock;
  private readonly known = new LRUCache<string, KnownKinds>({ max: maxWorkspaces });
  /** Workspaces that were checked within `spacingMs`, and whether a hint has arrived since. */
  private readonly recent = new Map<string, { isHinted: boolean }>();

  constructor(
    private readonly changes: Changes,
    private readonly triggers: TriggersRepository,
    @Inject(BUS) private readonly bus: Bus,
  ) {}

  /** Runs `onSent` after each message. Returns a function that stops it. */
  listen(onSent: () => void): () => void {
    return this.bus.subscribe('job-events', ({ workspaceId, status }) => {
      this.isWatched(workspaceId, status !== undefined).then(
        (isWatched) => {
          if (isWatched) this.look(workspaceId, onSent);
        },
        () => undefined, // the sweep finds the changes
      );
    });
  }

  /** Jobs change with their status alone. Only such a hint makes a workspace without triggers be read again. */
  private async isWatched(workspaceId: string, isMove: boolean): Promise<boolean> {
    const now = this.clock.monotonic();
    const known = this.known.get(workspaceId);
    const isOld = known === undefined || now - known.readAt >= kindsMs;
    if (!isMove && known !== undefined && isOld && (await known.kinds).size === 0) return false;
    const kinds = isOld ? this.read(workspaceId, now) : known.kinds;
    const found = await kinds;
    return isMove ? found.size > 0 : found.has('messages') || found.has('tool-calls');
  }

  private read(workspaceId: string, readAt: number): Promise<ReadonlySet<OwnKind>> {
    const kinds = this.triggers.ownKinds(workspaceId);
    this.known.set(workspaceId, { readAt, kinds });
    kinds.catch(() => this.known.delete(workspaceId));
    return kinds;
  }

  private look(workspaceId: string, onSent: () => void): void {
    const recent = this.recent.get(workspaceId);
    if (recent !== undefined) {
      recent.isHinted = true;
      return;
    }
    const entry = { isHinted: false };
    this.recent.set(workspaceId, entry);
    this.clock.after(spacingMs, () => {
      this.recent.delete(workspaceId);
      if (entry.isHinted) this.look(workspaceId, onSent);
    });
    this.changes.announce(workspaceId).then(
      (isSent) => {
        if (isSent) onSent();
      },
      () => undefined, // the sweep finds the changes
    );
  }
}
