/**
 * The result of `work`, unless the signal aborts first: then it rejects with the reason of the signal and ignores the late result. Work that
 * never ends does not hold the caller.
 */
export async function unlessAborted<T>(signal: AbortSignal, work: () => Promise<T>): Promise<T> {
  signal.throwIfAborted(); // an aborted signal has no more events
  const { promise: aborted, reject } = Promise.withResolvers<never>();
  const stop = () => {
    reject(signal.reason); // of any type, as that of a signal
  };
  signal.addEventListener('abort', stop, { once: true });
  try {
    return await Promise.race([work(), aborted]);
  } finally {
    signal.removeEventListener('abort', stop);
  }
}
