import { Injectable, type OnModuleDestroy } from '@nestjs/common';

import { crashpoint } from '#platform';

import type { JobEvent } from '../events/job-event.js';
import { JobTelemetry } from '../job.telemetry.js';
import { jobNotFound } from '../jobs.errors.js';
import { Presence } from '../presence/presence.js';
import { type JobSnapshot, SnapshotRepository } from '../snapshot/snapshot.repository.js';
import { FeedRepository, isFull } from './feed.repository.js';
import { JobTail } from './job-tail.js';
import { TailReader } from './tail-reader.js';

/** The items that a viewer receives: a snapshot first if the viewer needs one, then events in order, several at a time. */
export type FeedItem =
  | { readonly type: 'snapshot'; readonly snapshot: JobSnapshot; readonly reset: boolean }
  | { readonly type: 'events'; readonly events: readonly JobEvent[] };

/** Which job a viewer follows, from where, and until when. */
export interface FollowOptions {
  readonly workspaceId: string;
  readonly jobId: string;
  /** The number of the last event that the viewer has; undefined: it has none and needs a snapshot. */
  readonly after: number | undefined;
  /** Stops the feed; the iterator then returns. */
  readonly signal: AbortSignal;
}

/** A viewer farther behind than this gets a snapshot instead of a replay. */
const maxReplayEvents = 2_000;
const maxReplayBytes = 1024 * 1024;

/**
 * Follows the log of a job for a viewer: subscribe to hints, replay from the log, drop known events, go live, end after `job-finished`.
 * The viewer pulls: an idle viewer costs nothing, and all viewers of a job share one tail.
 */
@Injectable()
export class EventFeed implements OnModuleDestroy {
  constructor(
    private readonly repository: FeedRepository,
    private readonly snapshots: SnapshotRepository,
    private readonly reader: TailReader,
    private readonly presence: Presence,
    private readonly telemetry: JobTelemetry,
  ) {}

  /** Live tails in this process; zero without viewers. */
  get tails(): number {
    return this.reader.size;
  }

  /**
   * Follows one job. The caller checks the right to read before the call and between items. Throws `not_found` for a job that does not
   * exist in the workspace. Every number after `after` is delivered exactly once and in order, or covered by a snapshot. Returns after
   * `job-finished`, or when `signal` aborts.
   */
  async *follow(options: FollowOptions): AsyncGenerator<FeedItem, void, undefined> {
    const { workspaceId, jobId, signal } = options;
    const tail = this.reader.open(workspaceId, jobId);
    this.telemetry.viewers.inc();
    const here = this.presence.enter(tail);
    try {
      crashpoint('after-listen');
      let cursor = options.after;
      const [start] = await Promise.all([this.startAt(tail, options), here]);
      if (start.type === 'end') return;
      if (start.type === 'events') {
        yield start;
        if (start.events.at(-1)?.type === 'job-finished') return;
        cursor = start.events.at(-1)?.seq;
      } else if (start.type === 'snapshot') {
        const snapshot = yield* this.snapshot(tail, start.reset);
        if (snapshot.ended) return;
        cursor = snapshot.seq;
      }
      yield* this.tailFrom(tail, cursor ?? 0, signal);
    } finally {
      this.telemetry.viewers.dec();
      this.presence.leave(tail);
      this.reader.close(tail);
    }
  }

  onModuleDestroy(): void {
    this.reader.stop();
  }

  /** Most viewers have no events yet, or are a little behind. One read serves both. */
  private async startAt(tail: JobTail, { workspaceId, jobId, after }: FollowOptions): Promise<Start> {
    if (after === undefined) return { type: 'snapshot', reset: false };
    if (after >= 0) {
      // `after` may lie beyond the end of the log, so the shared tail is aligned only if events follow it.
      const events = await this.repository.readAfter(workspaceId, { jobId, after });
      if (isWholeReplay(events, after)) {
        if (tail.last <= after) {
          tail.align(after);
          tail.push(events);
        }
        return { type: 'events', events };
      }
    }
    const distance = await this.repository.measureAfter(workspaceId, { jobId, after });
    if (distance === null) throw jobNotFound();
    const { lastSeq, ended, kept, bytes } = distance;
    if (after === lastSeq && ended) return { type: 'end' };
    const complete = after >= 0 && after <= lastSeq && kept === lastSeq - after;
    return complete && kept <= maxReplayEvents && bytes <= maxReplayBytes
      ? { type: 'replay' }
      : { type: 'snapshot', reset: true };
  }

  private async *tailFrom(tail: JobTail, from: number, signal: AbortSignal): AsyncGenerator<FeedItem, void, undefined> {
    let cursor = from;
    while (!signal.aborted) {
      const found = tail.after(cursor) ?? (await this.replay(tail, cursor));
      const events = unbroken(found, cursor);
      const last = events.at(-1);
      if (last === undefined && found.length > 0) {
        // The log was trimmed between two reads of this viewer.
        const snapshot = yield* this.snapshot(tail, true);
        if (snapshot.ended) return;
        cursor = snapshot.seq;
        continue;
      }
      if (last === undefined) {
        if (tail.last <= cursor) await this.reader.wait(tail, signal);
        continue;
      }
      yield { type: 'events', events };
      if (last.type === 'job-finished') return;
      cursor = last.seq;
    }
  }

  private async *snapshot(tail: JobTail, reset: boolean): AsyncGenerator<FeedItem, JobSnapshot, undefined> {
    const snapshot = await this.snapshots.read(tail.workspaceId, tail.jobId);
    if (snapshot === null) throw jobNotFound();
    yield { type: 'snapshot', snapshot, reset };
    return snapshot;
  }

  private async replay(tail: JobTail, after: number): Promise<readonly JobEvent[]> {
    const { workspaceId, jobId } = tail;
    const known = tail.last;
    const events = await this.repository.readAfter(workspaceId, { jobId, after });
    // The tail had more events than this read returned: the job was deleted meanwhile. (The log may also have grown during the read.)
    if (events.length === 0 && known > after) throw jobNotFound();
    // If the tail has nothing newer than this viewer, it continues from here, for all viewers.
    if (tail.last <= after) {
      tail.align(after);
      tail.push(events);
    }
    return events;
  }
}

/** The events after `cursor` up to the first gap. */
function unbroken(events: readonly JobEvent[], cursor: number): readonly JobEvent[] {
  const hole = events.findIndex(({ seq }, i) => seq !== cursor + i + 1);
  return hole === -1 ? events : events.slice(0, hole);
}

type Start =
  | { readonly type: 'snapshot'; readonly reset: boolean }
  | { readonly type: 'events'; readonly events: readonly JobEvent[] }
  | { readonly type: 'replay' }
  | { readonly type: 'end' };

/** The events continue the cursor without a gap and are less than a page: the distance need not be measured. */
function isWholeReplay(events: readonly JobEvent[], after: number): boolean {
  return events.length > 0 && events.at(-1)?.seq === after + events.length && !isFull(events);
}
