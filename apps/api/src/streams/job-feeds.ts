import { Injectable } from '@nestjs/common';

import { EventFeed, type JobKind, jobNotFound } from '#jobs';
import { systemClock } from '#platform';
import { type WorkflowState, WorkflowStateReader } from '#workflows';

import { SharedState } from './shared-state.js';
import type { JobFeed } from './viewed-item.js';
import { WorkflowFeed } from './workflow-feed.js';

/** What a viewer subscribes to of a job. */
export interface FeedRequest {
  readonly workspaceId: string;
  readonly jobId: string;
  readonly kind: JobKind;
  /** Of a workflow: the event from which on each change of its state is sent; null: its state comes with snapshots only. */
  readonly statesFrom: number | null;
}

/** A feed that a viewer follows. */
export interface OpenFeed {
  readonly feed: JobFeed;
  /** Must be called once, when the viewer stops following. */
  readonly close: () => void;
}

/** The feeds of jobs for viewers: events, and for workflows their state beside them. */
@Injectable()
export class JobFeeds {
  private readonly watched = new Map<string, { readonly state: SharedState; viewers: number }>();

  constructor(
    private readonly events: EventFeed,
    private readonly reader: WorkflowStateReader,
  ) {}

  /** The number of workflow jobs whose state is cached here; zero without viewers. */
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
