import { type Model, ModelError } from '#models';
import { type Clock, systemClock } from '#platform';

/** How often a round with a broken stream is requested again. */
export const maxRestartsPerRound = 2;

/** Limits the duration of each response to `limitMs`. After that the request is aborted and fails with `model_timeout`. */
export function withRoundLimit(model: Model, limitMs: number, clock: Clock = systemClock): Model {
  return {
    async *stream(request, signal) {
      const controller = new AbortController();
      const stop = () => {
        controller.abort(signal.reason);
      };
      let tooLong: ModelError | undefined; // created only on a timeout, because a stack trace is costly
      const timer = clock.after(limitMs, () => {
        tooLong = tookTooLong(limitMs);
        controller.abort(tooLong);
      });
      signal.addEventListener('abort', stop, { once: true });
      if (signal.aborted) stop();
      try {
        yield* model.stream(request, controller.signal);
      } catch (error) {
        throw tooLong !== undefined && controller.signal.reason === tooLong ? tooLong : error;
      } finally {
        timer.cancel();
        signal.removeEventListener('abort', stop);
      }
    },
  };
}

function tookTooLong(limitMs: number): ModelError {
  return new ModelError({
    code: 'model_timeout',
    message: `The model did not finish its response within ${limitMs} ms`,
    retryable: true, // a new job may be faster; this job does not spend the same time again
    afterFirstByte: true,
    mayRestart: false,
  });
}
