import type { SampleEvent } from './sample-event.js';

/** How the sample job went. Times are milliseconds since the request was sent, as its client saw them. */
export interface SampleTimings {
  readonly jobId: string;
  /** Status of the job at its end: completed, failed or cancelled; waiting, if it was left before its end. */
  readonly status: string;
  readonly rounds: number;
  readonly toolCalls: number;
  /** The job is accepted: its id is here. */
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

  /** Returns the timings with the event that ends the job, before that nothing. */
  onEvent(event: SampleEvent, elapsedMs: number): SampleTimings | undefined {
    this.firstEventMs ??= elapsedMs;
    if (event.type === 'round-started') this.rounds = Math.max(this.rounds, event.round);
    if (event.type === 'text') this.firstTextMs ??= elapsedMs;
    if (event.type === 'tool-call') this.calls.add(event.id);
    return event.type === 'finished' ? this.leave(event.status, elapsedMs) : undefined;
  }

  /** What there is to tell of a job that is looked at no longer. */
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
