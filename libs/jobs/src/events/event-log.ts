import { Inject, Injectable } from '@nestjs/common';

import {
  BUS,
  type Bus,
  type BusMessages,
  type Clock,
  Config,
  defined,
  GroupWriter,
  systemClock,
  type Timer,
} from '#platform';

import { JobTelemetry } from '../job.telemetry.js';
import { concernsInterrupts } from './commit-part.js';
import type { JobWrite } from './commit-statement.js';
import { EventLogRepository, type Written } from './event-log.repository.js';
import { attemptAt, isDelta, type JobEvent, statusAfter } from './job-event.js';
import { LocalEvents } from './local-events.js';

interface WaitingWrite {
  /** Instant on the monotonic clock. */
  readonly dueAt: number;
  readonly go: () => void;
  readonly timer: Timer;
}

/**
 * Writes that wait to share a commit. A write is sent when it is due. A batch also takes the writes that are due within the next `rideMs`,
 * which saves commits. Each run has at most one waiting write.
 */
export class WaitingWrites {
  private readonly waiting = new Set<WaitingWrite>();

  constructor(
    private readonly clock: Clock,
    private readonly rideMs: number,
  ) {}

  /** Calls `go` once, after at most `ms`, unless it is cancelled. */
  later(ms: number, go: () => void): Timer {
    const timer = this.clock.after(ms, () => {
      this.waiting.delete(write);
      go();
    });
    const write: WaitingWrite = { dueAt: this.clock.monotonic() + ms, go, timer };
    this.waiting.add(write);
    return {
      cancel: () => {
        timer.cancel();
        this.waiting.delete(write);
      },
    };
  }

  /** Sends the writes that are due within `rideMs`. Call it right before a batch is sent. */
  flushDue(): void {
    const latest = this.clock.monotonic() + this.rideMs;
    for (const write of [...this.waiting]) {
      if (write.dueAt > latest) continue;
      write.timer.cancel();
      this.waiting.delete(write);
      write.go();
    }
  }
}

/** Returns a job's write. The writer calls it when the batch is sent, so that later events of the job are included. */
export type WriteSource = () => JobWrite;

interface Sealed {
  readonly write: JobWrite;
  readonly written: Written;
}

/**
 * Commits the writes of running jobs: those of one tick in one statement (see `EventLogRepository`). Publishes one hint per job after the
 * commit.
 */
@Injectable()
export class EventLog {
  private readonly writer: GroupWriter<WriteSource, Sealed>;
  private readonly waiting: WaitingWrites;

  constructor(
    private readonly repository: EventLogRepository,
    private readonly local: LocalEvents,
    @Inject(BUS) private readonly bus: Bus,
    private readonly telemetry: JobTelemetry,
    config: Config,
  ) {
    const { WRITER_TICK_MS: tickMs, DELTA_FLUSH_MS } = config.values;
    this.waiting = new WaitingWrites(systemClock, DELTA_FLUSH_MS / 4);
    this.writer = new GroupWriter((sources) => this.write(sources), systemClock, {
      ...{ tickMs, maxBatch: 500 },
      onBatchStart: () => {
        this.waiting.flushDue();
      },
    });
  }

  /** Commits a job's write together with all others that are due. Rejects with `LeaseLost` if the fence refused it. */
  async commit(source: WriteSource): Promise<Written> {
    const { write, written } = await this.writer.submit(source);
    if (write.events.length > 0) this.announce(write, written);
    for (const event of write.events) if (isDelta(event)) this.telemetry.deltaLength.observe(event.body.text.length);
    return written;
  }

  /** Calls `go` after at most `ms`. `go` must commit. */
  later(ms: number, go: () => void): Timer {
    return this.waiting.later(ms, go);
  }

  /** Publishes a hint that a statement of another writer has appended to a log. */
  hint(message: BusMessages['job-events']): void {
    this.bus.publish('job-events', message);
  }

  drain(): Promise<void> {
    return this.writer.drain();
  }

  private async write(sources: readonly WriteSource[]): Promise<(Sealed | Error)[]> {
    const writes = sources.map((seal) => seal());
    this.telemetry.commits.inc({ writer: 'engine' });
    this.telemetry.batchSize.observe(writes.length);
    const answers = await this.repository.commit(writes);
    return writes.map((write, i) => {
      const answer = answers[i] ?? new Error('the batch returned no result');
      return answer instanceof Error ? answer : { write, written: answer };
    });
  }

  private announce(write: JobWrite, { base, lastSeq, at }: Written): void {
    const { workspaceId, jobId } = write;
    const status = write.events.reduce<string | undefined>((last, event) => statusAfter(event) ?? last, undefined);
    if (base !== null && this.local.wanted) {
      let { attempt } = write;
      const events = write.events.map((event, i): JobEvent => {
        attempt = attemptAt(attempt, event.type);
        return { ...event, seq: base + i + 1, jobId, at, attempt };
      });
      this.local.emit({ workspaceId, jobId, events });
    }
    this.bus.publish('job-events', { workspaceId, jobId, seq: lastSeq, ...defined({ status }) });
    if (concernsInterrupts(write.events, write.rows)) this.bus.publish('interrupts-changed', { workspaceId });
  }
}
