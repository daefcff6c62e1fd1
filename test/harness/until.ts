import { setImmediate } from 'node:timers/promises';

/** Resolves once `holds` is true, asked after each turn of the event loop; throws, naming `what`, when that takes over 100 s. */
export async function until(what: string, holds: () => boolean): Promise<void> {
  const deadline = performance.now() + 100_000;
  while (!holds()) {
    if (performance.now() > deadline) throw new Error(`Waited in vain until ${what}`);
    await setImmediate();
  }
}
