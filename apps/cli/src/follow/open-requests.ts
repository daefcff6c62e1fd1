import type { JobEvent } from '@nightshift/client';

import { type EventTable, lookUp } from '../view/event-table.js';

/** The open requests of a job to a person or a client, according to its log. */
export class OpenRequests {
  private readonly known = new Set<string>();
  private waits = false;
  private readonly changes: EventTable<readonly string[]> = {
    JobSnapshotEvent: ({ status, interrupts }) => {
      this.waits = status === 'WAITING';
      return this.become(interrupts.filter(({ kind }) => needsAnswer(kind)).map(({ id }) => id));
    },
    InterruptOpenedEvent: ({ kind, interruptId }) =>
      needsAnswer(kind) ? this.become([...this.known, interruptId]) : [],
    InterruptResolvedEvent: ({ interruptId }) => {
      this.known.delete(interruptId);
      return [];
    },
    JobWaitingEvent: () => this.become([...this.known], true),
    JobRequeuedEvent: () => this.become([...this.known], false),
    JobStartedEvent: () => this.become([...this.known], false),
  };

  /** Whether the job holds no worker: it waits for one of these, for a job below it, or for its time. */
  get isIdle(): boolean {
    return this.waits;
  }

  get ids(): readonly string[] {
    return [...this.known];
  }

  has(id: string): boolean {
    return this.known.has(id);
  }

  /** Takes an event; gives the requests that are new with it. */
  take(event: JobEvent): readonly string[] {
    return lookUp(this.changes, event) ?? [];
  }

  private become(ids: readonly string[], waits = this.waits): readonly string[] {
    this.waits = waits;
    const fresh = ids.filter((id) => !this.known.has(id));
    this.known.clear();
    for (const id of ids) this.known.add(id);
    return fresh;
  }
}

const kinds: ReadonlySet<string> = new Set(['TOOL_APPROVAL', 'HUMAN_INPUT', 'CLIENT_TOOL', 'UNKNOWN_OUTCOME']);

/** A job may also wait for an instant or an event, which need no answer. */
function needsAnswer(kind: string): boolean {
  return kinds.has(kind);
}
