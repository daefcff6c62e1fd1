import { AppError } from '#platform';

/** The same error for an absent notification, one of another user, and one of another workspace. */
export function notificationNotFound(): AppError {
  return new AppError({ code: 'not_found', message: 'Notification not found' });
}
