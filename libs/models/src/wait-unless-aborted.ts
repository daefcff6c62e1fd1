import type { Clock } from '#platform';

/** Resolves after `delayMs` of the clock; rejects with the signal's reason as soon as it aborts. Leaves no timer behind. */
export async function waitUnlessAborted(delayMs: number, clock: Clock, signal: AbortSignal): Promise<void> {
  signal.throwIfAborted();
  const { promise, resolve } = Promise.withResolvers<undefined>();
  const timer = clock.after(delayMs, () => {
    resolve(undefined);
  });
  const onAbort = () => {
    timer.cancel();
    resolve(undefined);
  };
  signal.addEventListener('abort', onAbort, { once: true });
  await promise;
  signal.removeEventListener('abort', onAbort);
  signal.throwIfAborted();
}
