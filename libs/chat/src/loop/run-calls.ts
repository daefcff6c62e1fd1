/** What became of the wish to start a call: it is ours to run, it was settled meanwhile, or nothing may start any more. */
export type StartVerdict = 'started' | 'settled' | 'refused';

/** How calls are run; all are the consumer's. */
export interface RunCallsPorts<Call, Outcome> {
  /** Most calls at a time, >= 1. */
  readonly concurrency: number;
  /** Takes the right to run a call, durably. `refused` (fenced, or the job is being stopped) keeps all later ones from starting. */
  readonly start: (call: Call) => Promise<StartVerdict>;
  /** Runs a started call; must not throw. */
  readonly execute: (call: Call) => Promise<Outcome>;
  /** Stores how it ended. */
  readonly settled: (call: Call, outcome: Outcome) => Promise<void>;
}

/**
 * Runs the calls of a round side by side, in their order as far as there is room. Gives the outcomes in the order of the
 * calls, null for one that was not started here. When a port throws nothing more is started, what runs is waited for, and then
 * the first error is thrown: no call outlives its round.
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
