/** The result of an attempt to start a call: this worker runs it, the call was settled meanwhile, or no further call may start. */
export type StartVerdict = 'started' | 'settled' | 'refused';

/** The functions by which the consumer runs calls. */
export interface RunCallsPorts<Call, Outcome> {
  /** Maximum number of concurrent calls, >= 1. */
  readonly concurrency: number;
  /** Acquires the right to run a call, durably. After `refused` (the run is fenced, or the job is being cancelled) no further call starts. */
  readonly start: (call: Call) => Promise<StartVerdict>;
  /** Runs a started call; must not throw. */
  readonly execute: (call: Call) => Promise<Outcome>;
  /** Stores how the call ended. */
  readonly settled: (call: Call, outcome: Outcome) => Promise<void>;
}

/**
 * Runs the calls of a round concurrently, started in their order. Returns the outcomes in the order of the calls, null for a call that was
 * not started here. If a port throws, no further call starts. The running calls are awaited before the first error is thrown, so no call
 * outlives its round.
 */
export async function runCalls<Call, Outcome>(
  calls: readonly Call[],
  ports: RunCallsPorts<Call, Outcome>,
): Promise<readonly (Outcome | null)[]> {
  const outcomes = calls.map((): Outcome | null => null);
  const queue = calls.entries();
  let stopped = false;
  const lane = async (): Promise<void> => {
    for (const [index, call] of queue) {
      if (stopped) return;
      try {
        const verdict = await ports.start(call);
        if (verdict === 'refused') stopped = true;
        if (verdict !== 'started') continue;
        const outcome = await ports.execute(call);
        await ports.settled(call, outcome);
        outcomes[index] = outcome;
      } catch (error) {
        stopped = true;
        throw error;
      }
    }
  };
  const lanes = Math.min(Math.max(1, ports.concurrency), calls.length);
  const ends = await Promise.allSettled(Array.from({ length: lanes }, lane));
  const failure = ends.find((end) => end.status === 'rejected');
  if (failure !== undefined) throw failure.reason;
  return outcomes;
}
