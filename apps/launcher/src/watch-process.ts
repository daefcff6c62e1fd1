import type { Logger } from '#platform';

import type { StopRequest } from './stop-request.js';

/** What 128 + SIGINT is by convention (POSIX shells). */
const INTERRUPTED = 130;

/** Who is told about signals, for people. */
export type OnSignal = (answer: 'stop' | 'hurry') => void;

/** Turns signals and unexpected errors into stop requests. Returns the way back to Node's own behaviour. */
export function watchProcess(stop: StopRequest, logger: Logger, tell: OnSignal): () => void {
  const onSignal = () => {
    const answer = stop.onSignal();
    if (answer === 'exit') process.exit(INTERRUPTED);
    if (answer !== 'echo') tell(answer);
  };
  const onError = (error: unknown) => {
    const failure = error instanceof Error ? error : new Error(String(error));
    logger.fatal({ err: failure }, 'an unexpected error stops this process');
    stop.fail(failure);
  };
  process.on('SIGINT', onSignal).on('SIGTERM', onSignal);
  process.on('uncaughtException', onError).on('unhandledRejection', onError);
  return () => {
    process.off('SIGINT', onSignal).off('SIGTERM', onSignal);
    process.off('uncaughtException', onError).off('unhandledRejection', onError);
  };
}
