import { inFlight } from './in-flight.js';
import { median } from './statistics.js';

/** One way to run a job from start to end; limits and product are measured through the same interface. */
export interface JobClient {
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
  /** The fastest run: the rate without load by other processes. */
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
export async function load(
  client: JobClient,
  { width, runs, secondsEach, staggerMs = 0 }: LoadShape,
): Promise<LoadResult> {
  const rates: number[] = [];
  const times: JobTimes[] = [];
  const startedAt = performance.now();
  for (let run = 0; run < runs; run++) {
    const from = performance.now();
    const before = times.length;
    await inFlight(Number.POSITIVE_INFINITY, { width, staggerMs }, async (_, stop) => {
      times.push(await client.run());
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
export async function loadCount(client: JobClient, count: number, width: number): Promise<JobTimes[]> {
  const times: JobTimes[] = [];
  await inFlight(count, { width }, async () => {
    times.push(await client.run());
  });
  return times;
}
