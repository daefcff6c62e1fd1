import { z } from 'zod';

import { optional, pageQuery } from '#platform/api';

import { notificationTypes } from '../../notifications/notification.js';

/** The query of the list. */
export const notificationQuery = z.object({
  ...pageQuery,
  read: optional(z.stringbool({ truthy: ['true'], falsy: ['false'], case: 'sensitive' })).meta({
    ...{ description: 'Only read ones (`true`) or unread ones (`false`).', type: 'boolean' },
  }),
  type: optional(z.enum(notificationTypes)).meta({ description: 'Only these.' }),
});

export type NotificationListQuery = z.infer<typeof notificationQuery>;
