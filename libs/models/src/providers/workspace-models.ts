import type { Bus, Clock } from '#platform';

import type { ModelProvidersRepository, WorkspaceModelSettings } from './model-providers.repository.js';

/** How long an answer may be used although the hint of its change was lost. */
const TTL_MS = 5_000;
const MAX_WORKSPACES = 10_000;

interface Entry {
  readonly settings: Promise<WorkspaceModelSettings | null>;
  readonly until: number;
}

/**
 * The model settings of workspaces, remembered, because every job needs them and they hardly ever change. A change drops the
 * memory by a hint (`access-changed`) in every process; 5 s is the floor under a lost hint. Callers that ask at once share
 * one read. `close` gives the subscription back.
 */
export class WorkspaceModels {
  private readonly entries = new Map<string, Entry>();
  private readonly wayOut: readonly (() => void)[];

  constructor(
    private readonly providers: Pick<ModelProvidersRepository, 'settingsOf'>,
    bus: Pick<Bus, 'subscribe' | 'onGap'>,
    private readonly clock: Clock,
  ) {
    this.wayOut = [
      bus.subscribe('access-changed', ({ workspaceId }) => {
        this.entries.delete(workspaceId);
      }),
      bus.onGap(() => {
        this.entries.clear();
      }),
    ];
  }

  /** Null: no such workspace. A read that failed is not remembered. */
  of(workspaceId: string): Promise<WorkspaceModelSettings | null> {
    const known = this.entries.get(workspaceId);
    if (known !== undefined && this.clock.monotonic() < known.until) return known.settings;
    const entry = { settings: this.providers.settingsOf(workspaceId), until: this.clock.monotonic() + TTL_MS };
    entry.settings.catch(() => {
      if (this.entries.get(workspaceId) === entry) this.entries.delete(workspaceId);
    });
    this.entries.delete(workspaceId);
    this.entries.set(workspaceId, entry);
    if (this.entries.size > MAX_WORKSPACES) this.dropOldest();
    return entry.settings;
  }

  close(): void {
    for (const leave of this.wayOut) leave();
    this.entries.clear();
  }

  private dropOldest(): void {
    const [oldest] = this.entries.keys();
    if (oldest !== undefined) this.entries.delete(oldest);
  }
}
