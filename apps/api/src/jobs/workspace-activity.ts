import { Inject, Injectable, type OnModuleDestroy } from '@nestjs/common';

import { BUS, type Bus, systemClock } from '#platform';

/** What moved lately in one workspace: the newest change of each job, oldest change first. */
interface Activity {
  readonly changedAt: Map<string, number>;
  readonly waiting: Set<() => void>;
  changes: number;
  viewers: number;
}

/** Jobs remembered for viewers that are behind; a viewer further behind than this misses the oldest. */
const maxJobs = 1_000;
/** A job that is moving usually moves again soon, and is seldom alone: what moves within this time is one batch. */
const gatherMs = 50;

/**
 * Which jobs of a workspace have moved to another status, told by hints. All viewers of a workspace share one list of its
 * newest changes; a viewer holds a number only, so a slow one costs nothing and sees each job once, as it is then.
 */
@Injectable()
export class WorkspaceActivity implements OnModuleDestroy {
  private readonly activities = new Map<string, Activity>();
  private leaveBus: (() => void) | undefined;

  constructor(@Inject(BUS) private readonly bus: Bus) {}

  /** Workspaces that are watched now. */
  get size(): number {
    return this.activities.size;
  }

  /** Batches of ids of jobs that have moved since the last batch, until `signal` aborts. */
  async *changes(workspaceId: string, signal: AbortSignal): AsyncGenerator<readonly string[], void, undefined> {
    const activity = this.open(workspaceId);
    try {
      let seen = activity.changes;
      while (!signal.aborted) {
        const moved = [...activity.changedAt].filter(([, at]) => at > seen).map(([jobId]) => jobId);
        seen = activity.changes;
        if (moved.length > 0) yield moved;
        else {
          await this.next(activity, signal);
          await gather(signal);
        }
      }
    } finally {
      this.close(workspaceId, activity);
    }
  }

  onModuleDestroy(): void {
    this.leaveBus?.();
  }

  private open(workspaceId: string): Activity {
    const activity = this.activities.get(workspaceId) ?? {
      changedAt: new Map<string, number>(),
      waiting: new Set(),
      changes: 0,
      viewers: 0,
    };
    activity.viewers += 1;
    this.activities.set(workspaceId, activity);
    this.leaveBus ??= this.bus.subscribe('job-events', ({ workspaceId: where, jobId, status }) => {
      const watched = status === undefined ? undefined : this.activities.get(where);
      if (watched !== undefined) this.note(watched, jobId);
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

  private note(activity: Activity, jobId: string): void {
    activity.changes += 1;
    activity.changedAt.delete(jobId);
    activity.changedAt.set(jobId, activity.changes);
    if (activity.changedAt.size > maxJobs) {
      for (const oldest of activity.changedAt.keys()) {
        activity.changedAt.delete(oldest);
        break;
      }
    }
    for (const wake of [...activity.waiting]) wake();
  }

  private next({ waiting }: Activity, signal: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      const wake = () => {
        waiting.delete(wake);
        signal.removeEventListener('abort', wake);
        resolve();
      };
      waiting.add(wake);
      signal.addEventListener('abort', wake, { once: true });
    });
  }
}

function gather(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const timer = systemClock.after(gatherMs, done);
    signal.addEventListener('abort', done, { once: true });
    function done() {
      timer.cancel();
      signal.removeEventListener('abort', done);
      resolve();
    }
    if (signal.aborted) done();
  });
}
