import { ModelError } from '#models';
import { AppError, defined } from '#platform';

import type { LoopOutcome } from '../loop/loop-step.js';

/** Why a conversation of a node has no response. `code` is that of the model's error, or of the limit that was reached. */
export class ConversationFailed extends AppError {
  /** The HTTP status of the provider's response, if there was one. */
  readonly statusCode: number | undefined;
  /** The delay that the provider requested before a retry. */
  readonly retryAfterMs: number | undefined;

  constructor(
    cause: Pick<AppError, 'code' | 'message'> & Partial<AppError>,
    /** The policy of a call fails the whole job; the node's error handling does not apply. */
    readonly endsJob = false,
  ) {
    const { code, message, retryable = false, retryAfterSeconds, details = {} } = cause;
    super({
      ...{ code, message, retryable, details, cause },
      ...defined({ retryAfterSeconds }),
    });
    this.name = 'ConversationFailed';
    this.statusCode = cause instanceof ModelError ? cause.status : undefined;
    this.retryAfterMs = retryAfterSeconds === undefined ? undefined : retryAfterSeconds * 1_000;
  }

  /** The error of a loop that stopped because of a failure. */
  static of({ code, message, cause }: Extract<LoopOutcome, { type: 'stopped' }>): ConversationFailed {
    return new ConversationFailed(cause instanceof AppError ? cause : { code, message });
  }
}
