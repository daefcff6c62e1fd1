import type { Logger } from '#platform';

import type { StopRequest } from './stop-request.js';

/** 128 + the number of the signal, by convention (POSIX shells). */
const EXIT_CODES = { SIGINT: 130, SIGTERM: 143 } as const;
/** Time for a hurried stop to release its leases and to stop the embedded Postgres. A successor repairs what is left. */
const HURRIED_EXIT_MS = 1_500;
/** Any time will do: the timer only has to exist. */
const KEEP_ALIVE_MS = 60_000;

/** Where to print notices about signals, for people. */
export type OnSignal = (answer: 'stop' | 'hurry') => void;

/**
 * Turns signals and unexpected errors into stop requests, and keeps the process alive. The returned function restores Node's own
 * behavior.
 */
export function watchProcess(stop: StopRequest, logger: Logger, tell: OnSignal): () => void {
  const onSignal = (signal: keyof typeof EXIT_CODES) => {
    const answer = stop.onSignal(signal);
    if (answer === 'exit') process.exit(EXIT_CODES[signal]);
    if (answer === 'hurry') setTimeout(() => process.exit(EXIT_CODES[signal]), HURRIED_EXIT_MS).unref();
    if (answer !== 'echo') tell(answer);
  };
  const onError = (error: unknown) => {
    const failure = error instanceof Error ? error : new Error(String(error));
    logger.fatal({ err: failure }, 'an unexpected error stops this process');
    stop.fail(failure);
  };
  // A worker without a server of its own has nothing that keeps it alive while Postgres is down.
  const keepAlive = setInterval(() => undefined, KEEP_ALIVE_MS);
  process.on('SIGINT', onSignal).on('SIGTERM', onSignal);
  process.on('uncaughtException', onError).on('unhandledRejection', onError);
  return () => {
    clearInterval(keepAlive);
    process.off('SIGINT', onSignal).off('SIGTERM', onSignal);
    process.off('uncaughtException', onError).off('unhandledRejection', onError);
  };
}
