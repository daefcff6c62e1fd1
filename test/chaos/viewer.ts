import { setTimeout } from 'node:timers/promises';

import type { EventFeed, JobEvent, JobSnapshot } from '#jobs';
import { AppError } from '#platform';

import { eventually } from '../harness/eventually.js';

const watchTimeoutMs = 240_000;

/** A subscriber of a job that records every item it received. */
export interface Viewer {
  readonly jobId: string;
  readonly after: number;
  readonly events: JobEvent[];
  readonly snapshots: JobSnapshot[];
  /** Resolves when the feed has ended; rejects after a minute. */
  readonly ended: Promise<void>;
  /** Resolves once an event of this type, the `count`-th of its kind, was seen. */
  saw(type: JobEvent['type'], count?: number): Promise<void>;
  leave(): void;
}

/** Follows from `after` on, as every encoder does. */
export function watch(feed: EventFeed, job: { workspaceId: string; jobId: string }, after = 0): Viewer {
  const events: JobEvent[] = [];
  const snapshots: JobSnapshot[] = [];
  const leaving = new AbortController();
  const { signal } = leaving;
  const late = new Error(`job ${job.jobId} did not end in time`);
  const timeout = globalThis.setTimeout(() => {
    leaving.abort(late);
  }, watchTimeoutMs);
  const attach = async (cursor: number) => {
    for await (const item of feed.follow({ ...job, after: cursor, signal })) {
      if (item.type === 'events') events.push(...item.events);
      else snapshots.push(item.snapshot);
    }
  };
  const follow = async () => {
    // If the feed breaks (the database is unavailable), opens it again after the last event number, as clients do.
    for (let isOver = false; !isOver;) {
      isOver = await attach(events.at(-1)?.seq ?? after).then(
        () => true,
        (error: unknown) => {
          if (signal.aborted || (error instanceof AppError && !error.retryable)) throw error;
          return false;
        },
      );
      if (!isOver) await setTimeout(100);
    }
    if (signal.reason === late) throw late;
  };
  const ended = follow().finally(() => {
    clearTimeout(timeout);
  });
  // Only a caller that awaits the end gets its error.
  ended.catch(() => undefined);
  return {
    jobId: job.jobId,
    after,
    events,
    snapshots,
    ended,
    saw: async (type, count = 1) => {
      await eventually(`${type} number ${count} is seen`, () =>
        events.filter((event) => event.type === type).length >= count ? true : undefined,
      );
    },
    leave: () => {
      leaving.abort();
    },
  };
}
