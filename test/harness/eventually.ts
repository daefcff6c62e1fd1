import { statSync } from 'node:fs';
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

/** Waits until a file has content. A process that is killed may leave a file without it. */
export async function untilWritten(path: string): Promise<void> {
  await eventually(`${path} has content`, () =>
    (statSync(path, { throwIfNoEntry: false })?.size ?? 0) > 0 ? true : undefined,
  );
}
