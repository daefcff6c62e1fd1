import { inFlight } from './in-flight.js';
import { median } from './statistics.js';

/** One way to have a job done from start to end; the limits and the real thing are measured by the same hand. */
export interface JobDoor {
  /** Resolves when the job has ended well and everything of it has arrived. */
  run(): Promise<JobTimes>;
}

/** Ms after the job was asked for. */
export interface JobTimes {
  readonly firstDeltaMs: number;
  readonly totalMs: number;
}

/** What several short runs in a row gave. */
export interface LoadResult {
  readonly jobs: number;
  /** The middle of the runs. */
  readonly jobsPerSecond: number;
  /** The fastest run: what is left when nobody else uses the machine. */
  readonly bestPerSecond: number;
  readonly times: readonly JobTimes[];
  readonly seconds: number;
}

export interface LoadShape {
  /** Jobs under way at any time. */
  readonly width: number;
  readonly runs: number;
  readonly secondsEach: number;
  /** Ms between the starts of the first jobs, so that they do not go in step. Default 0. */
  readonly staggerMs?: number;
}

/** Keeps `width` jobs under way for a while, several times. */
export async function load(door: JobDoor, { width, runs, secondsEach, staggerMs = 0 }: LoadShape): Promise<LoadResult> {
  const rates: number[] = [];
  const times: JobTimes[] = [];
  const startedAt = performance.now();
  for (let run = 0; run < runs; run++) {
    const from = performance.now();
    const before = times.length;
    await inFlight(Number.POSITIVE_INFINITY, { width, staggerMs }, async (_, stop) => {
      times.push(await door.run());
      if (performance.now() - from >= secondsEach * 1_000) stop();
    });
    rates.push((times.length - before) / ((performance.now() - from) / 1_000));
  }
  return {
    jobs: times.length,
    jobsPerSecond: median(rates),
    bestPerSecond: Math.max(...rates),
    times,
    seconds: (performance.now() - startedAt) / 1_000,
  };
}

/** A fixed number of jobs. */
export async function loadCount(door: JobDoor, count: number, width: number): Promise<JobTimes[]> {
  const times: JobTimes[] = [];
  await inFlight(count, { width }, async () => {
    times.push(await door.run());
  });
  return times;
}
