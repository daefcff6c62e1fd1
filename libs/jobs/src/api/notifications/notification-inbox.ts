import { Injectable } from '@nestjs/common';

import type { MemberPrincipal } from '#auth';
import { defined } from '#platform';
import { idOfCursor, toCursor } from '#platform/api';

import type { KeysetPage } from '../../jobs.repository.js';
import type { Notification, NotificationFilter } from '../../notifications/notification.js';
import type { NotificationListQuery } from './notification-list-query.js';
import { OwnNotifications } from './own-notifications.js';

/** A notification in the format of REST. Absent fields do not apply to it. */
export interface NotificationReply {
  readonly id: string;
  readonly type: Notification['type'];
  /** Null if the notification is not about a job. */
  readonly jobId: string | null;
  readonly rootJobId: string | null;
  /** The id of the thread that the client chose, else the server id. */
  readonly threadId: string | null;
  readonly interruptId?: string;
  readonly endpointId?: string;
  readonly title: string;
  /** Ms since the epoch. */
  readonly at: number;
  readonly read: boolean;
}

/** A page of notifications, newest first. Pass `nextCursor` as `?after`; it is null on the last page. */
export interface NotificationPage {
  readonly notifications: readonly NotificationReply[];
  readonly nextCursor: string | null;
}

/** User notifications for the REST endpoint. */
@Injectable()
export class NotificationInbox {
  constructor(private readonly notifications: OwnNotifications) {}

  /** Throws `bad_request`, `invalid_cursor`. */
  async list(member: MemberPrincipal, query: NotificationListQuery): Promise<NotificationPage> {
    const page = toPage(query);
    const found = await this.notifications.list(member, toFilter(query), page);
    const shown = found.slice(0, page.limit);
    const last = found.length > page.limit ? shown.at(-1) : undefined;
    return {
      notifications: shown.map(toReply),
      nextCursor: last === undefined ? null : toCursor('notifications', last.id),
    };
  }

  /** Throws `not_found`. */
  async markRead(member: MemberPrincipal, id: string): Promise<NotificationReply> {
    return toReply(await this.notifications.markRead(member, id));
  }
}

function toReply(notification: Notification): NotificationReply {
  const { id, type, jobId, rootJobId, threadName, interruptId, endpointId, title, createdAt, readAt } = notification;
  return {
    ...{ id, type, jobId, rootJobId, threadId: threadName },
    ...(interruptId === null ? {} : { interruptId }),
    ...(endpointId === null ? {} : { endpointId }),
    ...{ title, at: Math.round(createdAt), read: readAt !== null },
  };
}

function toFilter({ read, type }: NotificationListQuery): NotificationFilter {
  return { ...defined({ read }), ...(type === undefined ? {} : { types: [type] }) };
}

function toPage({ limit, after }: NotificationListQuery): KeysetPage {
  return { limit, ...(after === undefined ? {} : { after: idOfCursor(after, 'notifications', 'after') }) };
}
