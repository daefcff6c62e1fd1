import { AppError } from '#platform';

/** Hides from a caller without access whether the dead letter exists. */
export function letterNotFound(): AppError {
  return new AppError({ code: 'not_found', message: 'Dead letter not found or unauthorized' });
}

/** The call does not exist, belongs to another workspace, is not visible to the caller, or is not in the queue. */
export function queuedCallNotFound(): AppError {
  return new AppError({ code: 'not_found', message: 'Tool call not found or unauthorized' });
}

/** The call of a dead letter cannot be sent again. `why` is a clause. */
export function notRedrivable(why: string): AppError {
  return new AppError({ code: 'not_redrivable', message: `This call cannot be sent again: ${why}` });
}
