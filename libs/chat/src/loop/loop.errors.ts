import { ModelError } from '#models';
import { AppError } from '#platform';

import type { LoopOutcome, OpenRound } from './loop-step.js';

type Stopped = Extract<LoopOutcome, { type: 'stopped' }>;

/** The job has reached its output limit; the text before the limit stays. */
export function outputLimit(maxBytes: number): AppError {
  return new AppError({ code: 'OUTPUT_LIMIT', message: `The text output of the job exceeds ${maxBytes} bytes.` });
}

/** A stream that ends without a finish part is an error and not a complete response. */
export function endedEarly(): ModelError {
  const message = 'The model ended its response without a finish reason.';
  return new ModelError({ code: 'model_stream_broken', message, retryable: true, afterFirstByte: true });
}

/**
 * The outcome of a loop that `failure` has stopped. After an abort, every failure counts as the abort. A failure that is neither an abort nor
 * an expected error is a bug and is thrown.
 */
export function stoppedBy(failure: unknown, signal: AbortSignal, open: OpenRound | null): Stopped {
  if (signal.aborted) {
    const cause: unknown = signal.reason;
    return { type: 'stopped', code: 'aborted', message: 'The job or its node was cancelled.', cause, open };
  }
  if (!(failure instanceof AppError)) throw failure;
  return { type: 'stopped', code: failure.code, message: failure.message, cause: failure, open };
}
