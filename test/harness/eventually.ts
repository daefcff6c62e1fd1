import { setTimeout } from 'node:timers/promises';

const pauseMs = 15;

/** Polls until the result is not undefined, and returns it; throws with `what` after `deadlineMs`. */
export async function eventually<T>(
  what: string,
  ask: () => Promise<T | undefined> | T | undefined,
  deadlineMs = 100_000,
): Promise<T> {
  const deadline = performance.now() + deadlineMs;
  for (;;) {
    const answer = await ask();
    if (answer !== undefined) return answer;
    if (performance.now() > deadline) throw new Error(`Waited in vain until ${what}`);
    await setTimeout(pauseMs);
  }
}
