import { ModelError } from '#models';
import { AppError } from '#platform';

import type { LoopOutcome } from '../loop/loop-step.js';

/** Why a conversation of a node has no answer; `code` is the model's, or that of the limit it met. */
export class ConversationFailed extends AppError {
  /** The HTTP status of the provider's answer, if there was one. */
  readonly statusCode: number | undefined;
  /** What the provider asked for before another try. */
  readonly retryAfterMs: number | undefined;

  constructor(
    cause: Pick<AppError, 'code' | 'message'> & Partial<AppError>,
    /** A call's own policy says that the whole job fails, whatever its node does about errors. */
    readonly endsJob = false,
  ) {
    const { code, message, retryable = false, retryAfterSeconds, details = {} } = cause;
    super({
      ...{ code, message, retryable, details, cause },
      ...(retryAfterSeconds === undefined ? {} : { retryAfterSeconds }),
    });
    this.name = 'ConversationFailed';
    this.statusCode = cause instanceof ModelError ? cause.status : undefined;
    this.retryAfterMs = retryAfterSeconds === undefined ? undefined : retryAfterSeconds * 1_000;
  }

  /** For a loop that a failure has stopped. */
  static of({ code, message, cause }: Extract<LoopOutcome, { type: 'stopped' }>): ConversationFailed {
    return new ConversationFailed(cause instanceof AppError ? cause : { code, message });
  }
}
