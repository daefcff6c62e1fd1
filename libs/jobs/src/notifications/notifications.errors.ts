import { AppError } from '#platform';

/** The error is the same for an absent notification, for one of another user, and for one of another workspace. */
export function notificationNotFound(): AppError {
  return new AppError({ code: 'not_found', message: 'Notification not found' });
}
