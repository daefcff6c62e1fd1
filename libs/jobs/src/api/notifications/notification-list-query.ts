import { z } from 'zod';

import { optional, pageQuery } from '#platform/api';

import { notificationTypes } from '../../notifications/notification.js';

/** The query parameters of the list. */
export const notificationQuery = z.object({
  ...pageQuery,
  read: optional(z.stringbool({ truthy: ['true'], falsy: ['false'], case: 'sensitive' })).meta({
    ...{ description: 'Only read notifications (`true`) or only unread ones (`false`).', type: 'boolean' },
  }),
  type: optional(z.enum(notificationTypes)).meta({ description: 'Only notifications of this type.' }),
});

export type NotificationListQuery = z.infer<typeof notificationQuery>;
