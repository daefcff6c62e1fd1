import { Injectable } from '@nestjs/common';

import type { JobEvent } from './job-event.js';

/** Events as they were stored, for readers in the same process. */
export interface StoredEvents {
  readonly workspaceId: string;
  readonly jobId: string;
  readonly events: readonly JobEvent[];
}

/**
 * Passes stored events to readers of the same process, so that they need not read them from Postgres. A reader uses them only if they
 * continue what it has; if they do not arrive, it reads the log.
 */
@Injectable()
export class LocalEvents {
  private readonly listeners = new Set<(stored: StoredEvents) => void>();

  /** False without listeners: callers then need not build the events. */
  get wanted(): boolean {
    return this.listeners.size > 0;
  }

  emit(stored: StoredEvents): void {
    for (const listener of this.listeners) listener(stored);
  }

  subscribe(listener: (stored: StoredEvents) => void): () => void {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  }
}
