import type { UnreadNotification } from '#jobs';

import type { NotificationChannel } from './notification-channel.js';

/** The content of a delivery to a channel; its JSON is the body of a webhook. */
export interface NotificationBody {
  readonly type: string;
  /** When the notification was written (ISO 8601). */
  readonly timestamp: string;
  readonly data: {
    readonly workspaceId: string;
    readonly channelId: string;
    readonly notificationId?: string;
    readonly userId?: string;
    readonly jobId?: string;
    readonly rootJobId?: string;
    /** The client's name for the thread, if it has one. */
    readonly threadId?: string;
    readonly requestId?: string;
    /** The webhook endpoint that was disabled. */
    readonly endpointId?: string;
    /** Only if the channel includes titles. */
    readonly title?: string;
    /** The page of the application. */
    readonly url?: string;
    /** Earlier notifications that were over the hourly limit. */
    readonly dropped?: number;
  };
}

/** The body for one notification and channel. */
export function notificationBody(
  workspaceId: string,
  notification: UnreadNotification,
  options: {
    readonly channel: Pick<NotificationChannel, 'id' | 'includeTitle'>;
    readonly dropped: number;
    /** Setting NOTIFICATION_URL. */
    readonly page: string | undefined;
  },
): NotificationBody {
  const { channel, dropped, page } = options;
  const {
    id: notificationId,
    userId,
    type,
    jobId,
    rootJobId,
    threadName,
    interruptId,
    endpointId,
    title,
  } = notification;
  const ids = {
    workspaceId,
    ...(jobId !== null && { jobId }),
    ...(rootJobId !== null && { rootJobId }),
    ...(threadName !== null && { threadId: threadName }),
    ...(interruptId !== null && { requestId: interruptId }),
    ...(endpointId !== null && { endpointId }),
  };
  return {
    type: `notification.${type}`,
    timestamp: new Date(notification.createdAt).toISOString(),
    data: {
      ...ids,
      ...{ channelId: channel.id, notificationId, userId },
      ...(channel.includeTitle && title !== '' && { title: title.slice(0, 200) }),
      ...(page !== undefined && { url: pageUrl(page, ids) }),
      ...(dropped > 0 && { dropped }),
    },
  };
}

/** Replaces the placeholders of NOTIFICATION_URL. A missing value leaves an empty text. */
function pageUrl(template: string, ids: Readonly<Record<string, string>>): string {
  // The setting was parsed as a URL, which encodes braces in paths.
  return template.replace(/(?:\{|%7B)(\w+)(?:\}|%7D)/gi, (_, name: string) => encodeURIComponent(ids[name] ?? ''));
}
