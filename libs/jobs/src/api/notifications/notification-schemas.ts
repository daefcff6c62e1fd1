import { z } from 'zod';

import { named } from '#platform/api';

import { notificationTypes } from '../../notifications/notification.js';
import type { NotificationPage, NotificationReply } from './notification-inbox.js';

const notification: z.ZodType<NotificationReply> = named(
  'Notification',
  z.object({
    id: z.uuid(),
    type: z.enum(notificationTypes),
    jobId: z.uuid(),
    rootJobId: z.uuid(),
    threadId: z.string().nullable(),
    interruptId: z.uuid().exactOptional(),
    title: z.string(),
    at: z.number().meta({ description: 'Ms since the epoch.' }),
    read: z.boolean(),
  }),
);

const page: z.ZodType<NotificationPage> = z.object({
  notifications: z.array(notification),
  nextCursor: z.string().nullable().meta({ description: 'For `after`; null: that was all.' }),
});

/** What the routes of notifications answer. */
export const notificationReplies = { notification, page: named('NotificationPage', page) } as const;
