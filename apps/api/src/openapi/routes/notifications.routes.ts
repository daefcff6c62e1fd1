import { notificationTypes } from '#jobs';

import { json, type RouteGroup } from '../route.js';

/** What one was told. */
export const notificationRoutes: RouteGroup = {
  tag: 'Notifications',
  description: 'What happened to your jobs while nobody watched. docs/notifications.md tells when.',
  errors: 'Error',
  routes: [
    {
      method: 'get',
      path: '/api/notifications',
      operationId: 'listNotifications',
      summary: 'What you were told, newest first',
      parameters: [
        { name: 'read', in: 'query', description: 'Only those that were read, or not.', schema: { type: 'boolean' } },
        { name: 'type', in: 'query', description: 'Only these.', schema: { type: 'string', enum: notificationTypes } },
        {
          ...{ name: 'limit', in: 'query', description: 'Most to be shown.' },
          schema: { type: 'integer', minimum: 1, maximum: 100, default: 20 },
        },
        { name: 'after', in: 'query', description: '`nextCursor` of the page before.' },
      ],
      replies: [json(200, 'NotificationPage', 'A page of them.')],
      refusals: [400, 401],
    },
    {
      method: 'post',
      path: '/api/notifications/{id}/read',
      operationId: 'markNotificationRead',
      summary: 'Mark one as read; may be repeated',
      replies: [json(200, 'Notification', 'It is read.')],
      refusals: [401, 404],
    },
  ],
};
