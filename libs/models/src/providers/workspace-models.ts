import { type Bus, type Clock, TimedCache } from '#platform';

import type { ModelProvidersRepository, WorkspaceModelSettings } from './model-providers.repository.js';

/** Maximum age of a cached entry whose `access-changed` hint was lost. */
const TTL_MS = 5_000;
const MAX_WORKSPACES = 10_000;

/**
 * Caches the model settings of workspaces, because every job needs them and they rarely change. A hint (`access-changed`) drops the entry in every
 * process; 5 s is the maximum age if a hint is lost. Concurrent callers share one read. `close` ends the subscription.
 */
export class WorkspaceModels {
  private readonly cache: TimedCache<WorkspaceModelSettings | null>;
  private readonly unsubscribers: readonly (() => void)[];

  constructor(
    private readonly providers: Pick<ModelProvidersRepository, 'settingsOf'>,
    bus: Pick<Bus, 'subscribe' | 'onGap'>,
    clock: Clock,
  ) {
    this.cache = new TimedCache({ clock, ttlMs: TTL_MS, max: MAX_WORKSPACES });
    this.unsubscribers = [
      bus.subscribe('access-changed', ({ workspaceId }) => {
        this.cache.forget(workspaceId);
      }),
      bus.onGap(() => {
        this.cache.clear();
      }),
    ];
  }

  /** Returns null if the workspace does not exist. A failed read is not cached. */
  of(workspaceId: string): Promise<WorkspaceModelSettings | null> {
    return this.cache.get(workspaceId, () => this.providers.settingsOf(workspaceId));
  }

  close(): void {
    for (const leave of this.unsubscribers) leave();
    this.cache.clear();
  }
}
