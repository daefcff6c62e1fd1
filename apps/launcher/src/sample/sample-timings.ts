import type { SampleEvent } from './sample-event.js';

/** The timings of the sample job, in ms since the request was sent, measured by its client. */
export interface SampleTimings {
  readonly jobId: string;
  /** The final status: completed, failed or cancelled; waiting, if the sample stopped following the job earlier. */
  readonly status: string;
  /** Number of finished rounds, as in the log and in the status of the job: a round that failed does not count. */
  readonly rounds: number;
  readonly toolCalls: number;
  /** When the client received the job's id. */
  readonly acceptedMs: number;
  readonly firstEventMs: number;
  /** Null when the model produced no text. */
  readonly firstTextMs: number | null;
  readonly totalMs: number;
}

/** Counts and times the events of one job. `elapsedMs` never falls. */
export class SampleStopwatch {
  private readonly calls = new Set<string>();
  private rounds = 0;
  private firstEventMs: number | undefined;
  private firstTextMs: number | null = null;

  constructor(
    private readonly jobId: string,
    private readonly acceptedMs: number,
  ) {}

  /** Returns the timings for the event that ends the job; before that, undefined. */
  onEvent(event: SampleEvent, elapsedMs: number): SampleTimings | undefined {
    this.firstEventMs ??= elapsedMs;
    if (event.type === 'round-finished') this.rounds = Math.max(this.rounds, event.round);
    if (event.type === 'text') this.firstTextMs ??= elapsedMs;
    if (event.type === 'tool-call') this.calls.add(event.id);
    return event.type === 'finished' ? this.leave(event.status, elapsedMs) : undefined;
  }

  /** The timings of a job that the sample stops following. */
  leave(status: string, elapsedMs: number): SampleTimings {
    const { jobId, acceptedMs, rounds, firstEventMs = elapsedMs, firstTextMs } = this;
    const whole = (ms: number) => Math.round(ms * 10) / 10;
    return {
      jobId,
      status,
      rounds,
      toolCalls: this.calls.size,
      acceptedMs: whole(acceptedMs),
      firstEventMs: whole(firstEventMs),
      firstTextMs: firstTextMs === null ? null : whole(firstTextMs),
      totalMs: whole(elapsedMs),
    };
  }
}
