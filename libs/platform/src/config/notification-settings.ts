import { z } from 'zod';

import { httpUrl, text, whole } from './setting-kinds.js';

/** Settings of notification channels. */
export const notificationSettings = {
  SMTP_URL: z
    .url({ protocol: /^smtps?$/ })
    .optional()
    .meta({
      allowed: 'a URL that starts with smtp:// or smtps://',
      description:
        'Mail server for notifications: smtps://user:password@host:465, or smtp:// (STARTTLS is required unless the host is this machine).',
    }),
  MAIL_FROM: text('Sender of e-mails, such as Nightshift <nightshift@example.com>. Required with SMTP_URL.'),
  MAILS_PER_HOUR: whole(
    [20, 1, 10_000],
    'Maximum number of notification e-mails to a user, or to a workspace, per hour.',
  ),
  PUBLIC_URL: httpUrl('Public URL of this server. Unsubscribe links in e-mails begin with it.'),
  NOTIFICATION_URL: httpUrl(
    'Page of your application that notifications link to. {jobId}, {rootJobId}, {threadId}, {requestId} and {workspaceId} are replaced.',
  ),
};
