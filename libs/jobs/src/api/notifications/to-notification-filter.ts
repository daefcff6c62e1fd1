import { defined } from '#platform';
import { both } from '#platform/api';

import type { NotificationFilter, NotificationType } from '../../notifications/notification.js';
import type { NotificationFilterInput } from './notifications.args.js';

/** Converts the input to a `NotificationFilter`. If a field has two comparisons, both must match. */
export function toNotificationFilter(input: NotificationFilterInput | null | undefined): NotificationFilter {
  const { read, type } = input ?? {};
  const types = both<NotificationType>(type?.eq, type?.in);
  return { ...(read == null ? {} : { read }), ...defined({ types }) };
}
