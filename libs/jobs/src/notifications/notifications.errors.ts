import { AppError } from '#platform';

/** Absent, of somebody else, and of another workspace look the same. */
export function notificationNotFound(): AppError {
  return new AppError({ code: 'not_found', message: 'Notification not found' });
}
