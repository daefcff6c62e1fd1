import { Inject, Injectable, type OnModuleDestroy } from '@nestjs/common';

import { BUS, type Bus } from '#platform';
import { RecentChanges } from '#platform/api';

/** The recent status changes of one workspace, kept while it has viewers. */
interface Activity {
  readonly changes: RecentChanges;
  viewers: number;
}

/** Jobs remembered for viewers that are behind; a viewer further behind than this misses the oldest. */
const maxJobs = 1_000;

/**
 * Finds the jobs of a workspace whose status has changed, from hints. All viewers of a workspace share one list of its newest changes; each
 * viewer reads the current row of a job.
 */
@Injectable()
export class WorkspaceActivity implements OnModuleDestroy {
  private readonly activities = new Map<string, Activity>();
  private leaveBus: (() => void) | undefined;

  constructor(@Inject(BUS) private readonly bus: Bus) {}

  /** Number of workspaces that have viewers. */
  get size(): number {
    return this.activities.size;
  }

  /** Batches of ids of jobs whose status has changed since the last batch, until `signal` aborts. */
  async *changes(workspaceId: string, signal: AbortSignal): AsyncGenerator<readonly string[], void, undefined> {
    const activity = this.open(workspaceId);
    try {
      yield* activity.changes.follow(signal);
    } finally {
      this.close(workspaceId, activity);
    }
  }

  onModuleDestroy(): void {
    this.leaveBus?.();
  }

  private open(workspaceId: string): Activity {
    const activity = this.activities.get(workspaceId) ?? { changes: new RecentChanges(maxJobs), viewers: 0 };
    activity.viewers += 1;
    this.activities.set(workspaceId, activity);
    this.leaveBus ??= this.bus.subscribe('job-events', ({ workspaceId: where, jobId, status }) => {
      if (status !== undefined) this.activities.get(where)?.changes.note(jobId);
    });
    return activity;
  }

  private close(workspaceId: string, activity: Activity): void {
    activity.viewers -= 1;
    if (activity.viewers > 0) return;
    this.activities.delete(workspaceId);
    if (this.activities.size > 0) return;
    this.leaveBus?.();
    this.leaveBus = undefined;
  }
}
