import { AppError } from '#platform';

import type { Denied } from './fold-outcome.js';

/** A hook has denied a job or a model call, or has failed and its `failure` is `closed`: then a retry may succeed. */
export function hookDenied({ code, reason }: Denied): AppError {
  return new AppError({ code, message: reason, retryable: code === 'hook_failed' });
}
