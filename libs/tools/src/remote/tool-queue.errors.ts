import { AppError } from '#platform';

/** Absent and not to be seen look the same. */
export function letterNotFound(): AppError {
  return new AppError({ code: 'not_found', message: 'Dead letter not found or unauthorized' });
}

/** Absent, of another workspace, not to be seen, or not in the queue. */
export function queuedCallNotFound(): AppError {
  return new AppError({ code: 'not_found', message: 'Tool call not found or unauthorized' });
}

/** The call of a dead letter cannot be sent again; `why` completes "because". */
export function notRedrivable(why: string): AppError {
  return new AppError({ code: 'not_redrivable', message: `This call cannot be sent again: ${why}` });
}
