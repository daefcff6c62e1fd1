import { notificationTypes } from '#jobs';

import { json, type RouteGroup } from '../route.js';

/** What one was told. */
export const notificationRoutes: RouteGroup = {
  tag: 'Notifications',
  description: 'Events of your jobs that no viewer saw live. See docs/notifications.md.',
  errors: 'Error',
  routes: [
    {
      method: 'get',
      path: '/api/notifications',
      operationId: 'listNotifications',
      summary: 'List notifications, newest first',
      parameters: [
        {
          name: 'read',
          in: 'query',
          description: 'Only read ones (`true`) or unread ones (`false`).',
          schema: { type: 'boolean' },
        },
        { name: 'type', in: 'query', description: 'Only these.', schema: { type: 'string', enum: notificationTypes } },
        {
          ...{ name: 'limit', in: 'query', description: 'Page size.' },
          schema: { type: 'integer', minimum: 1, maximum: 100, default: 20 },
        },
        { name: 'after', in: 'query', description: '`nextCursor` of the previous page.' },
      ],
      replies: [json(200, 'NotificationPage', 'A page of them.')],
      refusals: [400, 401],
    },
    {
      method: 'post',
      path: '/api/notifications/{id}/read',
      operationId: 'markNotificationRead',
      summary: 'Mark a notification as read (idempotent)',
      replies: [json(200, 'Notification', 'It is read.')],
      refusals: [401, 404],
    },
  ],
};
